"""When a tool may be called: the cap of the run, and the places, rate and breaker that all runs share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graph.plan import canonical_json
from nodes.lanes.admission import GLOBAL_CAP, Demand
from nodes.lanes.run import StepRun
from nodes.metering import refused_call
from tools import CallFailed, RegisteredTool
from tools.cache import whole_args
from tools.limits import Entry, Full, Later, Passed, Shut, ToolGate

RATE_LIMITED = "rate_limited"
STOPPED = "stopped"

_LOOK_SECONDS = 1.0


def demand_of(run: StepRun, tool: RegisteredTool, args: Mapping[str, Any], *, first: bool) -> Demand:
    """What this call counts against: the run's cap, and what its tool shares with other runs.

    Args:
        run: The step's execution.
        tool: The tool.
        args: The call's arguments.
        first: Whether it would be the step's first call.
    """
    limits = {GLOBAL_CAP: run.session.settings.max_concurrency}
    policy = tool.policy
    engine = run.session.engine
    service = named_by(tool, policy.service_arg, args)
    gate = engine.limits.gate(tool, service, now=engine.now().timestamp())
    if gate is None:
        return Demand(limits)
    session = named_by(tool, policy.session_arg, args)
    return Demand(limits, RunGate(run, tool, gate, session, first))


def is_left(run: StepRun, *, first: bool) -> bool:
    """Whether a step that has not begun is left as it is: the run stops, and takes it up when it goes on.

    A call that an agent has chosen is made, for the agent has begun.
    """
    of_agent = run.item is not None and not run.local_values
    return first and not of_agent and run.board.draining()


def named_by(tool: RegisteredTool, argument: str | None, args: Mapping[str, Any]) -> str | None:
    """What a call names by an argument, or by its default; None where no argument does so."""
    if argument is None:
        return None
    value = whole_args(tool, args).get(argument)
    return value if isinstance(value, str) else canonical_json(value)


@dataclass(frozen=True)
class RunGate:
    """A tool's gate as one step meets it: by the run's clock, and within what is left of its time."""

    run: StepRun
    tool: RegisteredTool
    gate: ToolGate
    session: str | None
    first: bool

    @property
    def name(self) -> str:
        return f"{self.gate.name!r} {self.session!r}"

    def enter(self, wake: Callable[[], None]) -> Entry:
        if is_left(self.run, first=self.first):
            return Shut(CallFailed("soft", STOPPED, "the run stops", nothing_happened=True))
        entry = self.gate.enter(self._now, self.session, wake)
        if isinstance(entry, Later):
            return self._in_time(entry)
        return self._while_time(entry) if isinstance(entry, Full) else entry

    def _in_time(self, entry: Later) -> Entry:
        """A wait that is too long is not begun."""
        late = self.run.spent.no_time_for(entry.seconds)
        if late is None:
            return entry
        rate = self.tool.policy.rate
        words = f"{self.tool.name} takes {rate}, the next in {entry.seconds:.1f} s; {late}"
        return Shut(CallFailed("soft", RATE_LIMITED, words, nothing_happened=True))

    def _while_time(self, entry: Full) -> Entry:
        """Nobody knows how long calls under way take: the wait ends with the time."""
        spent = self.run.spent
        refused = spent.ledger.tool_call(spent) if spent.no_time_for(0.0) is not None else None
        return entry if refused is None else Shut(refused_call(refused))

    @property
    def patience(self) -> float | None:
        """Seconds after which the step's time is over; None when it may wait for ever."""
        spent = self.run.spent
        return spent.ledger.seconds_left(spent)

    def close(self, passed: Passed) -> None:
        passed.close(self._now)

    async def sleep(self, seconds: float) -> None:
        """Wait, and look now and then whether the run stops."""
        while seconds > 0 and not is_left(self.run, first=self.first):
            part = min(seconds, _LOOK_SECONDS)
            await self.run.session.engine.sleep(part)
            seconds -= part

    @property
    def _now(self) -> float:
        return self.run.session.engine.now().timestamp()
