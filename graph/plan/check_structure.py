"""Checks of ids and dependencies."""

from collections import Counter
from collections.abc import Iterator, Sequence

from graph.plan.errors import PlanProblem
from graph.plan.graph_order import find_cycles
from graph.plan.limits import PlanLimits
from graph.plan.messages import did_you_mean, shown
from graph.plan.models import UNDO_AUTHOR, Plan
from graph.plan.splice import depth_of, last_sub_steps
from graph.plan.steps import MAX_ID_CHARS, MapStep, PlanStep, Step
from graph.plan.undo import UNDO_SUFFIX

_SHOWN_CYCLE = 20


def structure_problems(plan: Plan, open_steps: Sequence[Step], limits: PlanLimits) -> Iterator[PlanProblem]:
    """Yield what is wrong with ids, dependencies and nesting; only open steps' dependencies count."""
    counts = Counter(step.id for step in plan.steps)
    for step_id, count in counts.items():
        if count > 1:
            message = f"{count} steps have the id {step_id}; give each its own"
            yield PlanProblem("duplicate_id", step_id, message)
        if step_id.endswith(UNDO_SUFFIX) and plan.author != UNDO_AUTHOR:
            message = f"ids that end in {UNDO_SUFFIX} stand for what undoes a step; choose another id"
            yield PlanProblem("reserved_id", step_id, message)
        if len(step_id) > MAX_ID_CHARS and not step_id.endswith(UNDO_SUFFIX):
            message = (
                f"the id {shown(step_id)} has {len(step_id)} characters, at most {MAX_ID_CHARS} are allowed"
            )
            yield PlanProblem("bad_plan", step_id, message)
    names = list(counts)
    for step in open_steps:
        yield from _dependency_problems(step, counts, names)
        if isinstance(step, PlanStep):
            yield from _nesting_problems(step, plan, counts, limits)
        if isinstance(step, MapStep):
            yield from _list_problems(step, limits)
    for cycle in find_cycles(open_steps):
        message = f"steps wait for each other: {_path(cycle)}; remove one of these dependencies"
        yield PlanProblem("cycle", cycle[0], message)


def _dependency_problems(step: Step, known: Counter[str], names: Sequence[str]) -> Iterator[PlanProblem]:
    for needed in dict.fromkeys(step.depends_on):
        if needed == step.id:
            yield PlanProblem("self_dependency", step.id, "the step depends on itself; remove that")
        elif needed not in known:
            message = f"depends on {shown(needed)}, which is not in the plan{did_you_mean(needed, names)}"
            yield PlanProblem("unknown_dependency", step.id, message)


def _list_problems(step: MapStep, limits: PlanLimits) -> Iterator[PlanProblem]:
    if isinstance(step.over, list) and len(step.over) > limits.max_map_items:
        allowed = f"at most {limits.max_map_items} are allowed (max_map_items)"
        yield PlanProblem("too_many_items", step.id, f"the list has {len(step.over)} items, {allowed}")


def _nesting_problems(
    step: PlanStep, plan: Plan, known: Counter[str], limits: PlanLimits
) -> Iterator[PlanProblem]:
    depth = depth_of(plan, step.id)
    if depth > limits.max_plan_depth:
        message = f"a plan step {depth} deep, at most {limits.max_plan_depth} are allowed; use other steps"
        yield PlanProblem("too_deep", step.id, message)
    for sub in step.sub_steps:
        if sub not in known or not sub.startswith(f"{step.id}."):
            message = f"{shown(sub)} is no sub-step of it in this plan; leave sub_steps out"
            yield PlanProblem("unknown_dependency", step.id, message)
    if step.sub_steps and not last_sub_steps(step):
        yield PlanProblem("unknown_dependency", step.id, "it waits for none of its sub-steps; leave them out")


def _path(cycle: tuple[str, ...]) -> str:
    if len(cycle) <= _SHOWN_CYCLE:
        return " -> ".join(cycle)
    half = _SHOWN_CYCLE // 2
    return " -> ".join([*cycle[:half], f"({len(cycle) - _SHOWN_CYCLE} more)", *cycle[-half:]])
