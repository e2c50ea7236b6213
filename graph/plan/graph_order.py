"""Walking the dependency graph of a plan, without recursion, in time linear in steps and dependencies."""

from collections import deque
from collections.abc import Mapping, Sequence

from graph.plan.models import Plan
from graph.plan.steps import Step


def dependents(steps: Sequence[Step]) -> dict[str, tuple[str, ...]]:
    """Return for each step the ids of those that depend on it directly, in plan order."""
    found: dict[str, list[str]] = {step.id: [] for step in steps}
    for step in steps:
        for needed in dict.fromkeys(step.depends_on):
            if needed in found:
                found[needed].append(step.id)
    return {step_id: tuple(after) for step_id, after in found.items()}


def topological_order(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return step ids so that each comes after all it depends on, otherwise in plan order.

    Dependencies on steps that are not there count as met. Steps on or behind a cycle are left out.
    """
    after = dependents(steps)
    open_needs = {step.id: len(set(step.depends_on) & after.keys()) for step in steps}
    ready = deque(step_id for step_id, count in open_needs.items() if count == 0)
    order: list[str] = []
    while ready:
        step_id = ready.popleft()
        order.append(step_id)
        for waiting in after[step_id]:
            open_needs[waiting] -= 1
            if open_needs[waiting] == 0:
                ready.append(waiting)
    return tuple(order)


def ancestors(plan: Plan, step_id: str) -> tuple[str, ...]:
    """Return the ids of all steps of the plan that a step depends on, directly or through others."""
    needs = {step.id: step.depends_on for step in plan.steps}
    found: dict[str, None] = {}
    todo = list(needs[step_id])
    while todo:
        current = todo.pop()
        if current in needs and current not in found:
            found[current] = None
            todo.extend(needs[current])
    return tuple(found)


def longest_remaining(plan: Plan, durations: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return for each step the seconds of the longest chain that starts with it.

    Args:
        plan: A plan without a cycle.
        durations: Expected seconds by step id; a step that is not in it counts as 1.
    """
    expected = durations or {}
    after = dependents(plan.steps)
    remaining: dict[str, float] = {}
    for step_id in reversed(topological_order(plan.steps)):
        rest = max((remaining[later] for later in after[step_id]), default=0.0)
        remaining[step_id] = expected.get(step_id, 1.0) + rest
    return remaining


def find_cycles(steps: Sequence[Step]) -> tuple[tuple[str, ...], ...]:
    """Return cycles of two or more steps as paths `a, b, a`, where each needs the next.

    Every cycle is found or touches one that is; a step that needs only itself is not reported here.
    """
    needs: dict[str, tuple[str, ...]] = {}
    for step in steps:
        others = tuple(needed for needed in step.depends_on if needed != step.id)
        needs[step.id] = needs.get(step.id, ()) + others
    stuck = _stuck(needs)
    visited: set[str] = set()
    cycles = (_walk_to_cycle(start, stuck, visited) for start in stuck)
    return tuple(cycle for cycle in cycles if cycle)


def _stuck(needs: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Keep the steps that can never start, each with those of its needs that cannot either."""
    known = {
        step_id: {needed for needed in needed_ids if needed in needs} for step_id, needed_ids in needs.items()
    }
    after: dict[str, list[str]] = {step_id: [] for step_id in needs}
    for step_id, needed_ids in known.items():
        for needed in needed_ids:
            after[needed].append(step_id)
    ready = deque(step_id for step_id, needed_ids in known.items() if not needed_ids)
    free: set[str] = set()
    while ready:
        free.add(done := ready.popleft())
        for waiting in after[done]:
            known[waiting].discard(done)
            if not known[waiting] and waiting not in free:
                ready.append(waiting)
    return {
        step_id: tuple(needed for needed in needs[step_id] if needed in needs and needed not in free)
        for step_id in needs
        if step_id not in free
    }


def _walk_to_cycle(start: str, stuck: Mapping[str, tuple[str, ...]], visited: set[str]) -> tuple[str, ...]:
    path: dict[str, int] = {}
    at = start
    while at not in visited:
        visited.add(at)
        path[at] = len(path)
        at = stuck[at][0]
    return (*list(path)[path[at] :], at) if at in path else ()
