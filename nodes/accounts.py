"""Accounts: what the run, or a step in it, may spend and has spent or reserved."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from graph.state import Price
from nodes.decide.budget import NOTHING, Limits, Used, lacking, output_room

Now = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Refused:
    """A budget has no room; `reason` names it and the remedy. `ends_run` when it is the run's own."""

    reason: str
    ends_run: bool


@dataclass
class Account:
    """One holder of limits: the run, or a step in it. `seconds` were used before it was opened."""

    limits: Limits = field(default_factory=Limits)
    used: Used = NOTHING
    reserved: Used = NOTHING
    now: Now = utc_now
    seconds: float = 0.0
    opened: datetime | None = None

    def __post_init__(self) -> None:
        self.opened = self.opened or self.now()

    @property
    def wall_seconds(self) -> float:
        assert self.opened is not None
        return self.seconds + max(0.0, (self.now() - self.opened).total_seconds())

    @property
    def seconds_left(self) -> float | None:
        limit = self.limits.wall_seconds
        return None if limit is None else max(0.0, limit - self.wall_seconds)

    @property
    def idle(self) -> bool:
        """Whether no call is under way for it."""
        return self.reserved == NOTHING

    def lacks(self, need: Used) -> str | None:
        """The name of the first budget without room for `need`."""
        if self.seconds_left == 0.0:
            return "wall_seconds"
        return lacking(self.limits, self.used, self.reserved, need)

    def output_room(self, prompt_tokens: int, price: Price | None, wanted: int) -> int:
        if not self.limits.bounds_answers:
            return wanted
        return output_room(
            self.limits, self.used, self.reserved, prompt_tokens=prompt_tokens, price=price, wanted=wanted
        )
