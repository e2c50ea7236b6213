"""What all runs of one graph share about its tools: rates, breakers, and equal calls under way."""

from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from tools.breaker import Breaker, BreakerPass
from tools.cache import Flights
from tools.outcomes import CallFailed, CallOutcome, CallSucceeded
from tools.policy import ToolPolicy
from tools.rate import RateWindow
from tools.registered import RegisteredTool

BREAKER_OPEN = "breaker_open"

NOT_CALLED = frozenset({"bad_args", "injected_arg", "forbidden", "no_key"})
"""Codes of calls that were refused on this side: they show nothing of the service."""


@dataclass(frozen=True, slots=True)
class Later:
    """There is no room now; the earliest that there may be some is in so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Shut:
    """The call is not made."""

    failure: CallFailed


@dataclass(slots=True)
class Passed:
    """Leave to make one call. `settle` tells how it ended; `close` gives leave back in any case."""

    breaker: Breaker | None = None
    given: BreakerPass | None = None

    def settle(self, outcome: CallOutcome, now: float) -> None:
        """Count how the call ended, at `now` in seconds."""
        self._leave(now, failed=looks_down(outcome))

    def close(self, now: float) -> None:
        """Give back what `settle` has not."""
        self._leave(now, failed=None)

    def _leave(self, now: float, *, failed: bool | None) -> None:
        given, self.given = self.given, None
        if self.breaker is not None and given is not None:
            self.breaker.leave(given, now, failed=failed)


Entry: TypeAlias = Passed | Later | Shut


def looks_down(outcome: CallOutcome) -> bool | None:
    """Whether a call ended as calls of a service in trouble do; None when the service was never reached."""
    if isinstance(outcome, CallSucceeded):
        return False
    return None if outcome.code in NOT_CALLED else outcome.kind != "hard"


class ToolGate:
    """One tool's rate and breaker; for any number of threads. Times are seconds since any moment."""

    def __init__(self, name: str, policy: ToolPolicy) -> None:
        """Begin with nothing called."""
        self.name = name
        self._breaker = Breaker(policy.breaker) if policy.breaker is not None else None
        self._window = RateWindow(policy.rate) if policy.rate is not None else None

    def enter(self, now: float) -> Entry:
        """Ask to make one call now. What is let through must be settled or closed."""
        passed = self._past_breaker(now)
        if isinstance(passed, Passed) and self._window is not None:
            wait = self._window.take(now)
            if wait > 0:
                passed.close(now)
                return Later(wait)
        return passed

    def _past_breaker(self, now: float) -> Passed | Shut:
        if self._breaker is None:
            return Passed()
        entered = self._breaker.enter(now)
        if isinstance(entered, BreakerPass):
            return Passed(self._breaker, entered)
        again = f"for another {entered:.0f} s" if entered > 0 else "until a call under way shows how it is"
        words = f"{self.name} kept failing and is left alone {again}; no call was made"
        return Shut(CallFailed("soft", BREAKER_OPEN, words))


@dataclass(frozen=True)
class ToolLimits:
    """The gates of a graph's tools, by name, and the calls that are under way for equal ones to wait for."""

    flights: Flights[Any] = field(default_factory=Flights)
    _gates: dict[str, ToolGate] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    def gate(self, tool: RegisteredTool) -> ToolGate | None:
        """The tool's gate, the same for all runs; None for a tool without rate and breaker."""
        policy = tool.policy
        if policy.rate is None and policy.breaker is None:
            return None
        with self._lock:
            if tool.name not in self._gates:
                self._gates[tool.name] = ToolGate(tool.name, policy)
            return self._gates[tool.name]
