"""Checks of ids and dependencies."""

from collections import Counter
from collections.abc import Iterator, Sequence

from graph.plan.errors import PlanProblem
from graph.plan.graph_order import find_cycles
from graph.plan.messages import did_you_mean, shown
from graph.plan.models import Plan
from graph.plan.steps import Step

_SHOWN_CYCLE = 20


def structure_problems(plan: Plan, open_steps: Sequence[Step]) -> Iterator[PlanProblem]:
    """Yield what is wrong with ids and dependencies; only open steps' dependencies count."""
    counts = Counter(step.id for step in plan.steps)
    for step_id, count in counts.items():
        if count > 1:
            message = f"{count} steps have the id {step_id}; give each its own"
            yield PlanProblem("duplicate_id", step_id, message)
    names = list(counts)
    for step in open_steps:
        yield from _dependency_problems(step, counts, names)
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


def _path(cycle: tuple[str, ...]) -> str:
    if len(cycle) <= _SHOWN_CYCLE:
        return " -> ".join(cycle)
    half = _SHOWN_CYCLE // 2
    return " -> ".join([*cycle[:half], f"({len(cycle) - _SHOWN_CYCLE} more)", *cycle[-half:]])
