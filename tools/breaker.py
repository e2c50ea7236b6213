"""Circuit breakers: a service that fails again and again is left alone for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Any

from pybreaker import STATE_CLOSED, STATE_HALF_OPEN, STATE_OPEN, CircuitBreaker, CircuitBreakerError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_PAIR = 2


class BreakerPolicy(BaseModel):
    """When a tool's breaker opens: after `failures` in a row, for `reset_seconds`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    failures: int = Field(default=5, ge=1)
    reset_seconds: float = Field(default=30.0, gt=0, allow_inf_nan=False)


def read_breaker(given: Any) -> Any:
    """Return what makes a `BreakerPolicy` of a pair of failures and seconds, or of anything else it takes.

    Raises:
        ValueError: It is text, or a list that is no pair.
    """
    if isinstance(given, Sequence):
        if isinstance(given, str) or len(given) != _PAIR:
            raise ValueError(f"{given!r} is no breaker: give (failures, reset_seconds) or a BreakerPolicy")
        return {"failures": given[0], "reset_seconds": given[1]}
    return given


BreakerField = Annotated[BreakerPolicy, BeforeValidator(read_breaker)]


class CallFault(Exception):  # noqa: N818 - tells the breaker of a failed call, and never leaves this module
    """A call failed in a way that a service in trouble fails."""


@dataclass(frozen=True, slots=True)
class BreakerPass:
    """Leave to make one call; `turn` counts how often the breaker had changed by then."""

    turn: int
    is_trial: bool


class Breaker:
    """One tool's breaker, for any number of threads. Times are seconds since any moment.

    Closed, it counts failures in a row. Open, it lets nobody through. When its time is over, it lets
    one call through, and that call's end closes or opens it again.
    """

    def __init__(self, policy: BreakerPolicy) -> None:
        """Begin closed."""
        self._policy = policy
        self._circuit = CircuitBreaker(fail_max=policy.failures, reset_timeout=policy.reset_seconds)
        self._opened_at = 0.0
        self._turn = 0
        self._on_trial = False
        self._lock = Lock()

    def enter(self, now: float) -> BreakerPass | float:
        """Return leave for one call, which must be given back with `leave`, or the seconds it stays shut.

        Behind a trial call that is under way these are 0.0: nobody knows.
        """
        with self._lock:
            if self._circuit.current_state == STATE_OPEN:
                self._opened_at = min(self._opened_at, now)  # a clock that was set back does not keep it shut
                left = self._policy.reset_seconds - (now - self._opened_at)
                if left > 0:
                    return left
                self._change(self._circuit.half_open)
            if self._circuit.current_state == STATE_HALF_OPEN:
                if self._on_trial:
                    return 0.0
                self._on_trial = True
                return BreakerPass(self._turn, is_trial=True)
            return BreakerPass(self._turn, is_trial=False)

    def leave(self, given: BreakerPass, now: float, *, failed: bool | None) -> None:
        """Take leave back and count how the call ended; None for a call that shows nothing of the service.

        A call that was let through before the breaker changed says nothing of how it is now.
        """
        with self._lock:
            if given.turn != self._turn:
                return
            self._on_trial = False if given.is_trial else self._on_trial
            if failed is not None:
                self._count(now, failed=failed)

    def _count(self, now: float, *, failed: bool) -> None:
        before = self._circuit.current_state
        try:
            self._circuit.call(_ended, failed)
        except (CallFault, CircuitBreakerError):
            self._opened_at = now if self._circuit.current_state == STATE_OPEN else self._opened_at
        if self._circuit.current_state != before:
            self._turn += 1
            self._on_trial = False

    def _change(self, change: Any) -> None:
        change()
        self._turn += 1
        self._on_trial = False

    @property
    def is_closed(self) -> bool:
        """Whether calls go through as usual."""
        return bool(self._circuit.current_state == STATE_CLOSED)


def _ended(failed: bool) -> None:
    if failed:
        raise CallFault
