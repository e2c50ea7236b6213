"""The board: who runs what right now. In the process, for one run, rebuilt at each superstep."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoints import StepEntry, step_of
from graph.plan import Plan, Sources, Step, StepStatus, inside_parts, longest_remaining
from nodes.decide.readiness import Readiness, left_out, readiness, settle_skips
from nodes.lanes.admission import Admission

OPEN_AGAIN = frozenset({StepStatus.RUNNING, StepStatus.WAITING})


@dataclass(frozen=True)
class Shape:
    """What follows from a plan alone: steps, who waits for whom, longest paths, what is in parts."""

    steps: Mapping[str, Step]
    dependents: Mapping[str, Sequence[Step]]
    priorities: Mapping[str, float]
    inside: frozenset[str]

    @classmethod
    def of(cls, plan: Plan, durations: Mapping[str, float] | None) -> "Shape":
        dependents: dict[str, list[Step]] = {step.id: [] for step in plan.steps}
        for step in plan.steps:
            for dep in step.depends_on:
                # A completed step may depend on one that a replan has dropped.
                dependents.setdefault(dep, []).append(step)
        steps = {step.id: step for step in plan.steps}
        return cls(steps, dependents, longest_remaining(plan, durations), inside_parts(plan))


class Board:
    """Statuses, results and claims of one run.

    Every method is synchronous, so claiming a step is one operation for all lanes of the loop.
    """

    def __init__(
        self,
        plan: Plan,
        entries: Mapping[str, StepEntry],
        *,
        gate: Callable[[Step], bool],
        before: "Board | None" = None,
        durations: Mapping[str, float] | None = None,
    ) -> None:
        """Rebuild from the journal.

        Args:
            plan: The current revision.
            entries: The journal's entries of this plan by step id. A step that was running when the
                process ended is pending again; its entry tells the executor what may have happened.
            gate: Whether a ready step must not start inside a lane.
            before: The last superstep's board; what follows from the plan alone is taken from it.
            durations: Seconds that each step is expected to take; without any, all count the same.
        """
        self.plan = plan
        self.entries = dict(entries)
        self.outputs: dict[str, Any] = {}
        self.sources: dict[str, Sources] = {}
        self.admission = Admission()
        self.halted: BaseException | None = None
        self.draining: Callable[[], bool] = lambda: False
        self.changed: dict[str, StepStatus] = {}
        self._gate = gate
        self._regrouping = False
        self._claimed: set[str] = set()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        same = before if before is not None and before.plan is plan else None
        self.shape: Shape = same.shape if same is not None else Shape.of(plan, durations)
        journaled = {step.id: _status(self.entries.get(step.id)) for step in plan.steps}
        self.statuses = settle_skips(plan, journaled)
        self.changed.update({k: s for k, s in self.statuses.items() if s != journaled[k]})

    def step(self, step_id: str) -> Step:
        return self.shape.steps[step_id]

    def has_result(self, step_id: str) -> bool:
        entry = self.entries.get(step_id)
        return entry is not None and entry.status.ok

    def priority(self, step_id: str) -> float:
        """The length of the longest path that waits for this step, or item of a map, in expected seconds."""
        return self.shape.priorities[step_of(step_id)]

    def claim(self, step_id: str) -> bool:
        """Take a pending step; False when it is settled, taken, or nothing may start any more."""
        stopped = self.halted is not None or self.draining()
        if stopped or step_id in self._claimed or self.statuses.get(step_id) is not StepStatus.PENDING:
            return False
        self._claimed.add(step_id)
        return True

    def record(self, entry: StepEntry, output: Any = None) -> None:
        """Take over a journaled result."""
        self.entries[entry.step_id] = entry
        self.statuses[entry.step_id] = entry.status
        self.changed[entry.step_id] = entry.status
        if entry.status.ok:
            self.outputs[entry.step_id] = output

    def give_back(self, entry: StepEntry) -> None:
        """The step waits for a person after all; it is nobody's until the scheduler looks again."""
        self.entries[entry.step_id] = entry
        self.changed[entry.step_id] = StepStatus.WAITING

    def claim_dependents(self, step_id: str) -> list[str]:
        """Claim what `step_id` made ready, longest remaining path first; settle what does not run."""
        ready: list[str] = []
        frontier = [step_id]
        while frontier:
            for step in self.shape.dependents[frontier.pop()]:
                if self.statuses[step.id] is not StepStatus.PENDING:
                    continue
                end = left_out(step, self.statuses, self.shape.inside)
                if end is not None:
                    self.statuses[step.id] = self.changed[step.id] = end
                    frontier.append(step.id)
                elif readiness(step, self.statuses) is Readiness.READY and step.id not in ready:
                    ready.append(step.id)
        ready.sort(key=self.priority, reverse=True)
        if self._regrouping:
            return []
        return [s for s in ready if not self._gate(self.shape.steps[s]) and self.claim(s)]

    def regroup(self) -> None:
        """Let lanes end with the steps they are at: the plan is about to have more steps."""
        self._regrouping = True

    def halt(self, cause: BaseException) -> None:
        """Let nothing new start: the journal cannot be written, or a tool asks a person."""
        self.halted = self.halted or cause

    def enter(self) -> None:
        self._running += 1
        self._idle.clear()

    def leave(self) -> None:
        self._running -= 1
        if self._running == 0:
            self._idle.set()

    async def idle(self) -> None:
        """Return once no step of any lane is running."""
        await self._idle.wait()

    def take_changes(self) -> dict[str, StepStatus]:
        """Statuses that changed since the last call; the executor's update of the state."""
        changed, self.changed = self.changed, {}
        return changed


def _status(entry: StepEntry | None) -> StepStatus:
    if entry is None or entry.status in OPEN_AGAIN:
        return StepStatus.PENDING
    return entry.status
