"""What all runs of one graph share about its tools: places, rates, breakers, equal calls under way."""

import math
from collections.abc import Callable
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

MAX_GATES = 1_000
"""Gates that are kept: services are named by arguments, of which there may be any number."""

_SHOWN_CHARS = 120

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


@dataclass(frozen=True, slots=True)
class Full:
    """As many calls as may be are under way; whoever asked is told when one of them has ended."""


@dataclass(slots=True)
class Passed:
    """Leave to make one call. `settle` tells how it ended; `close` gives leave back, and must be called."""

    gate: "ToolGate | None" = None
    session: str | None = None
    given: BreakerPass | None = None

    def settle(self, outcome: CallOutcome, now: float) -> None:
        """Count how the call ended, at `now` in seconds."""
        given, self.given = self.given, None
        if self.gate is not None and given is not None:
            self.gate.count(given, now, failed=looks_down(outcome))

    def close(self, now: float) -> None:
        """Give back the place, and what `settle` has not."""
        gate, self.gate = self.gate, None
        if gate is not None:
            gate.leave(self.session, self.given, now)


Entry: TypeAlias = Passed | Later | Full | Shut


def looks_down(outcome: CallOutcome) -> bool | None:
    """Whether a call ended as calls of a service in trouble do; None when the service was never reached."""
    if isinstance(outcome, CallSucceeded):
        return False
    return None if outcome.code in NOT_CALLED else outcome.kind != "hard"


class ToolGate:
    """One tool's places, rate and breaker; for any number of threads. Times are seconds since any moment."""

    def __init__(self, name: str, policy: ToolPolicy) -> None:
        """Begin with nothing called."""
        self.name = name
        self._breaker = Breaker(policy.breaker) if policy.breaker is not None else None
        self._window = RateWindow(policy.rate) if policy.rate is not None else None
        self._most = policy.max_concurrency
        self._inside = 0
        self._counts_until = -math.inf
        self._sessions: set[str] = set()
        self._waiting: set[Callable[[], None]] = set()
        self._lock = Lock()

    def enter(self, now: float, session: str | None, wake: Callable[[], None]) -> Entry:
        """Ask to make one call now. What is let through must be closed.

        Args:
            now: The time.
            session: The session that the call works in, for tools that have any.
            wake: Called once, from any thread, when there may be room again after `Full`.
        """
        with self._lock:
            given = self._breaker.enter(now) if self._breaker is not None else None
            if isinstance(given, float):
                return self._shut(given)
            entry = self._room(now, session, wake)
            if isinstance(entry, Passed):
                entry.given = given
            elif given is not None:
                self.count(given, now, failed=None)
            return entry

    def _room(self, now: float, session: str | None, wake: Callable[[], None]) -> Entry:
        full = self._most is not None and self._inside >= self._most
        if full or session in self._sessions:
            self._waiting.add(wake)
            return Full()
        wait = self._window.take(now) if self._window is not None else 0.0
        if wait > 0:
            return Later(wait)
        self._inside += 1
        self._counts_until = now + self._window.seconds if self._window is not None else now
        if session is not None:
            self._sessions.add(session)
        return Passed(self, session)

    def count(self, given: BreakerPass, now: float, *, failed: bool | None) -> None:
        """Tell the breaker how a call ended; None when that shows nothing."""
        if self._breaker is not None:
            self._breaker.leave(given, now, failed=failed)

    def leave(self, session: str | None, given: BreakerPass | None, now: float) -> None:
        """Take a place back, and wake all who wait for one."""
        if given is not None:
            self.count(given, now, failed=None)
        with self._lock:
            self._inside -= 1
            if session is not None:
                self._sessions.discard(session)
            waiting, self._waiting = self._waiting, set()
        for wake in waiting:
            wake()

    def is_idle(self, now: float) -> bool:
        """Whether nobody is inside or waits, no call counts against its rate, and its breaker is closed."""
        with self._lock:
            quiet = not self._inside and not self._waiting and now > self._counts_until
            return quiet and (self._breaker is None or self._breaker.is_closed)

    def _shut(self, seconds: float) -> Shut:
        again = f"for another {seconds:.0f} s" if seconds > 0 else "until a call under way shows how it is"
        name = self.name if len(self.name) <= _SHOWN_CHARS else f"{self.name[:_SHOWN_CHARS]}..."
        words = f"{name} kept failing and is left alone {again}; no call was made"
        return Shut(CallFailed("soft", BREAKER_OPEN, words, nothing_happened=True))


@dataclass(frozen=True)
class ToolLimits:
    """The gates of a graph's tools, by name, and the calls that are under way for equal ones to wait for."""

    flights: Flights[Any] = field(default_factory=Flights)
    _gates: dict[tuple[str, str | None], ToolGate] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    def gate(
        self, tool: RegisteredTool, service: str | None = None, *, now: float = math.inf
    ) -> ToolGate | None:
        """The gate of a tool, or of a service behind it, the same for all runs; None where there is none.

        Args:
            tool: The tool.
            service: The service that a call goes to, for tools with more than one behind them.
            now: The time: gates whose calls count no more may be forgotten for want of room.
        """
        policy = tool.policy
        kept = (policy.rate, policy.breaker, policy.max_concurrency, policy.session_arg)
        if all(each is None for each in kept):
            return None
        key = (tool.name, service)
        name = tool.name if service is None else f"{tool.name} {service}"
        with self._lock:
            found = self._gates.pop(key, None) or ToolGate(name, policy)
            self._gates[key] = found
            if len(self._gates) > MAX_GATES:
                self._forget(now, but=key)
            return found

    def _forget(self, now: float, but: tuple[str, str | None]) -> None:
        """Drop the gates that were asked for longest ago and hold nobody up."""
        idle = [key for key, gate in self._gates.items() if key != but and gate.is_idle(now)]
        for key in idle[: MAX_GATES // 2]:
            del self._gates[key]
