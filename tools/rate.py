"""How often a tool may be called: rates as policies give them, and the window that keeps one."""

import math
import re
from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_SECONDS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "day": 86_400}
_TEXT = re.compile(r"\s*(\d+)\s*/\s*(\d+(?:\.\d+)?)?\s*([a-z]+?)s?\s*", re.IGNORECASE)
_PAIR = 2
_FORMS = "write it as '5/s', '100/min', '20/10s' or (calls, seconds)"

_TURNED_BACK = 1000
"""Milliseconds by which a clock must go back to have been set; threads differ by less."""


class Rate(BaseModel):
    """At most `calls` calls in any `seconds`, wherever those begin."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int = Field(ge=1)
    seconds: float = Field(gt=0, allow_inf_nan=False)

    def __str__(self) -> str:
        """Return the rate in words."""
        return f"{self.calls} calls in {self.seconds:g} s"


def read_rate(given: Any) -> Any:
    """Return what makes a `Rate` of the forms that a policy may give it in.

    Args:
        given: `"5/s"`, `"100/min"`, `"20/10s"`, a pair of calls and seconds, or a `Rate`.

    Raises:
        ValueError: It is text in none of these forms, or a list that is no pair.
    """
    if isinstance(given, str):
        return _read_text(given)
    if isinstance(given, Sequence):
        if len(given) != _PAIR:
            raise ValueError(f"{given!r} is no rate: {_FORMS}")
        return {"calls": given[0], "seconds": given[1]}
    return given


def _read_text(text: str) -> dict[str, float]:
    match = _TEXT.fullmatch(text)
    unit = _SECONDS.get(match[3].lower()) if match else None
    if match is None or unit is None:
        raise ValueError(f"{text!r} is no rate: {_FORMS}")
    return {"calls": int(match[1]), "seconds": float(match[2] or 1) * unit}


def load_windows() -> None:
    """Load what windows are made of: slow at first, and not to be done on an event loop."""
    import pyrate_limiter  # noqa: F401, PLC0415 - a quarter of a second, for the few tools that have a rate


RateField = Annotated[Rate, BeforeValidator(read_rate)]


class RateWindow:
    """Lets at most a rate's calls through in any stretch of its seconds; for any number of threads."""

    def __init__(self, rate: Rate) -> None:
        """Begin with nothing called."""
        from pyrate_limiter import InMemoryBucket  # noqa: PLC0415 - see `load_windows`
        from pyrate_limiter import Rate as Limit  # noqa: PLC0415

        self._bucket = InMemoryBucket([Limit(rate.calls, math.ceil(rate.seconds * 1000))])
        self.seconds = rate.seconds
        self._latest = 0
        self._ahead = 0
        self._lock = Lock()

    def take(self, now: float) -> float:
        """Count one call made now, or say how long there is no room for it.

        Args:
            now: The time in seconds, since any moment; when the clock is set back, time goes on from where it
                was.

        Returns:
            0.0 when the call is counted, else the seconds until there may be room.
        """
        from pyrate_limiter import RateItem  # noqa: PLC0415

        with self._lock:
            at = math.floor(round(now * 1000, 3)) + self._ahead  # a sum of seconds may fall short by a bit
            if self._latest - at > _TURNED_BACK:
                self._ahead += self._latest - at
            self._latest = max(self._latest, at)
            item = RateItem("call", self._latest)
            self._bucket.leak(self._latest)
            if self._bucket.put(item):
                return 0.0
            wait = self._bucket.waiting(item)
            assert isinstance(wait, int), "a bucket in memory answers at once"
            return max(wait, 1) / 1000
