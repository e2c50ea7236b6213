"""Which steps may run, which cannot any more, and what the run does next."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from graph.plan import OnDependencyFailure, Plan, PlanStep, Step, StepStatus, inside_parts

Statuses = Mapping[str, StepStatus]

MISSING = frozenset({StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.REJECTED, StepStatus.CANCELLED})


class Readiness(StrEnum):
    """What a pending step's dependencies say of it."""

    WAIT = "wait"
    READY = "ready"
    SKIP = "skip"
    NOT_TAKEN = "not_taken"
    BLOCKED = "blocked"


_LEFT_OUT = {Readiness.SKIP: StepStatus.SKIPPED, Readiness.NOT_TAKEN: StepStatus.NOT_TAKEN}


class Move(StrEnum):
    """What the run does next, strongest first."""

    EXPAND = "expand"
    EXECUTE = "execute"
    REPLAN = "replan"
    ASK = "ask"
    REPORT = "report"
    COMPENSATE = "compensate"


def readiness(step: Step, statuses: Statuses) -> Readiness:
    """Judge one pending step by the statuses of its dependencies.

    A step behind branches of which none was taken is not taken either; with one of them it runs. A part whose
    sub-steps have ended is ready however they ended: it fails itself where they did, unless a person rejected
    one of them.
    """
    states = [statuses.get(dep, StepStatus.PENDING) for dep in step.depends_on]
    if states and all(state is StepStatus.NOT_TAKEN for state in states):
        return Readiness.NOT_TAKEN
    if isinstance(step, PlanStep) and step.sub_steps and not _touches_rejected(step.sub_steps, statuses):
        ended = {sub for sub in step.sub_steps if statuses.get(sub, StepStatus.PENDING).settled}
        states = [
            StepStatus.SUCCEEDED if dep in ended else state
            for dep, state in zip(step.depends_on, states, strict=True)
        ]
    if any(state in MISSING for state in states):
        policy = step.on_dependency_failure
        match policy:
            case OnDependencyFailure.ABORT:
                return Readiness.BLOCKED
            case OnDependencyFailure.SKIP:
                return Readiness.SKIP
            case OnDependencyFailure.DEGRADE:
                pass
            case _:
                assert_never(policy)
    return Readiness.READY if all(state.settled for state in states) else Readiness.WAIT


def left_out(step: Step, statuses: Statuses, inside: Set[str]) -> StepStatus | None:
    """How a pending step ends that does not run because of how its dependencies ended; None when it may run.

    Args:
        step: The step.
        statuses: Those of all steps.
        inside: Ids of the steps that are inside of parts: a part ends with what is left of it.
    """
    found = readiness(step, statuses)
    if found is Readiness.BLOCKED and step.id in inside and not _touches_rejected(step.depends_on, statuses):
        return StepStatus.CANCELLED
    return _LEFT_OUT.get(found)


def _touches_rejected(step_ids: Iterable[str], statuses: Statuses) -> bool:
    return any(statuses.get(each) is StepStatus.REJECTED for each in step_ids)


def ready_steps(plan: Plan, statuses: Statuses) -> list[str]:
    """Pending steps whose inputs exist, in plan order."""
    return [s.id for s in pending_steps(plan, statuses) if readiness(s, statuses) is Readiness.READY]


def pending_steps(plan: Plan, statuses: Statuses) -> list[Step]:
    return [s for s in plan.steps if statuses.get(s.id, StepStatus.PENDING) is StepStatus.PENDING]


def settle_skips(plan: Plan, statuses: Statuses) -> dict[str, StepStatus]:
    """`statuses` with every step that its own policy skips, or that no branch leads to, marked so.

    To the fixed point.
    """
    settled, inside = dict(statuses), inside_parts(plan)
    waiting = pending_steps(plan, settled)
    while True:
        ended = {s.id: end for s in waiting if (end := left_out(s, settled, inside))}
        if not ended:
            return settled
        settled.update(ended)
        waiting = [s for s in waiting if s.id not in ended]


def replan_causes(plan: Plan, statuses: Statuses, wanted: Set[str] = frozenset()) -> tuple[str, ...]:
    """Steps whose end asks for another plan, in plan order.

    A failed or skipped step with a dependent that aborts; a failed leaf that is not optional; and
    the steps of `wanted`, which a person rejected asking for another plan. A step that a person
    rejected otherwise asks for none: that was decided.
    """
    blocked_by = _aborting_dependencies(plan, statuses)
    depended_on = {dep for step in plan.steps for dep in step.depends_on}
    causes = []
    for step in plan.steps:
        status = statuses.get(step.id, StepStatus.PENDING)
        if status is StepStatus.FAILED:
            lost = step.id in blocked_by or (step.id not in depended_on and not step.optional)
        elif status is StepStatus.SKIPPED:
            lost = step.id in blocked_by
        else:
            lost = status is StepStatus.REJECTED and step.id in wanted
        if lost:
            causes.append(step.id)
    return tuple(causes)


def _aborting_dependencies(plan: Plan, statuses: Statuses) -> set[str]:
    blocked = [s for s in pending_steps(plan, statuses) if readiness(s, statuses) is Readiness.BLOCKED]
    return {dep for step in blocked for dep in step.depends_on}


@dataclass(frozen=True)
class Next:
    """The next move and the steps it is about."""

    move: Move
    steps: tuple[str, ...] = ()


def next_move(
    plan: Plan,
    statuses: Statuses,
    *,
    gated: Iterable[str],
    causes: tuple[str, ...],
    may_replan: bool,
    held: Iterable[str] = (),
) -> Next:
    """Decide the next move.

    All that can run without a person runs first, whatever else failed: what a run does never
    depends on which of two parallel steps was quicker. Then writes in doubt are decided, then comes
    another plan, then the other questions.

    Args:
        plan: The current revision.
        statuses: With skips settled.
        gated: Ready steps that wait for a person's approval.
        causes: From `replan_causes`, and steps that show that the plan does not hold.
        may_replan: Whether limits and the loop guard still allow another revision.
        held: Ready steps that must not run under this plan.
    """
    closed = set(gated)
    kept_back = closed | set(held)
    ready = [step_id for step_id in ready_steps(plan, statuses) if step_id not in kept_back]
    if ready:
        return Next(Move.EXECUTE, tuple(ready))
    doubtful = {s.id for s in plan.steps if statuses.get(s.id) is StepStatus.UNKNOWN}
    replan = bool(causes) and may_replan
    if replan and not doubtful:
        return Next(Move.REPLAN, causes)
    # A write in doubt is decided before the plan changes, else the new one might do it twice. What a
    # person would approve now is asked only when no new plan is about to replace it.
    asked = doubtful if replan else doubtful | closed
    if asked:
        return Next(Move.ASK, tuple(s.id for s in plan.steps if s.id in asked))
    return Next(Move.REPORT)
