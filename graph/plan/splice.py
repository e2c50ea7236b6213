"""Putting the plan of a `plan` step in its place, as the next revision."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from graph.plan.errors import PlanProblem
from graph.plan.implied import with_implied_dependencies
from graph.plan.json_values import JSON
from graph.plan.messages import shown
from graph.plan.models import Plan
from graph.plan.parts import all_references
from graph.plan.renaming import renamed_step, step_name
from graph.plan.steps import MapStep, PlanStep, Step


def splice(plan: Plan, step_id: str, part: Plan) -> Plan:
    """Make the next revision, with the steps of `part` before the `plan` step that it was made for.

    Each becomes `STEP_ID.NAME`, named so in all expressions of `part`; what else these name are steps that
    the `plan` step depends on. The `plan` step then waits for those of them that no other one needs.

    Args:
        plan: The revision that runs.
        step_id: A `plan` step of it without sub-steps.
        part: What it was planned as, under ids of its own.

    Raises:
        ValueError: An id of a step holds both kinds of quotes, or a backslash.
    """
    new_ids = {step.id: f"{step_id}.{step.id}" for step in part.steps}
    names = {old: step_name(new) for old, new in new_ids.items()}
    spliced: list[Step] = []
    for step in plan.steps:
        if isinstance(step, PlanStep) and step.id == step_id:
            spliced += [_moved(each, new_ids, names) for each in part.steps]
            step = _waiting(step, part, new_ids)  # noqa: PLW2901 - the step with its sub-steps
        spliced.append(step)
    return with_implied_dependencies(
        plan.model_copy(
            update={
                "revision": plan.revision + 1,
                "parent_revision": plan.revision,
                "assumptions": tuple(dict.fromkeys([*plan.assumptions, *part.assumptions])),
                "repairs": part.repairs,
                "steps": tuple(spliced),
            }
        )
    )


def stray_problems(part: Plan, known: AbstractSet[str], tools: AbstractSet[str]) -> Iterator[PlanProblem]:
    """Yield where a part's plan reaches beyond what is given to it.

    Args:
        part: The plan of a part of the work.
        known: Ids of steps outside of it whose results it may use.
        tools: Names of the tools it may use.
    """
    within = known | {step.id for step in part.steps}
    for step in part.steps:
        named = [each for expression in all_references(step) for each in sorted(expression.step_ids)]
        for other in dict.fromkeys([*step.depends_on, *named]):
            if other not in within:
                given = ", ".join(sorted(known)) or "none"
                message = f"{shown(other)} is no step of this plan; the results at hand are {given}"
                yield PlanProblem("unknown_reference", step.id, message)
        for name in step.tool_names:
            if name not in tools:
                given = ", ".join(sorted(tools)) or "none"
                message = f"{shown(name)} is no tool of this part; the tools are {given}"
                yield PlanProblem("unknown_tool", step.id, message)


def sub_results(step: PlanStep, outputs: Mapping[str, JSON]) -> JSON:
    """Return a planned step's result: that of the one sub-step it waits for, or all of theirs by name.

    Args:
        step: A `plan` step with sub-steps.
        outputs: Results by step id; null stands for one that is missing.
    """
    ends = last_sub_steps(step)
    if len(ends) == 1:
        return outputs.get(ends[0])
    return {each.removeprefix(f"{step.id}."): outputs.get(each) for each in ends}


def last_sub_steps(step: PlanStep) -> tuple[str, ...]:
    """Return the ids of the sub-steps that the step itself waits for."""
    return tuple(each for each in step.sub_steps if each in step.depends_on)


def inside_parts(plan: Plan) -> frozenset[str]:
    """Return the ids of the steps that took the place of `plan` steps."""
    return frozenset(sub for step in plan.steps if isinstance(step, PlanStep) for sub in step.sub_steps)


def depth_of(plan: Plan, step_id: str) -> int:
    """Return how many `plan` steps a step is inside of, itself included."""
    parents = {sub: step.id for step in plan.steps if isinstance(step, PlanStep) for sub in step.sub_steps}
    depth = 1
    while step_id in parents:
        step_id = parents.pop(step_id)  # popped, so that no damaged plan goes round in a circle
        depth += 1
    return depth


def _moved(step: Step, new_ids: Mapping[str, str], names: Mapping[str, str]) -> Step:
    moved = renamed_step(step, names)
    changes: dict[str, object] = {
        "id": new_ids[step.id],
        "depends_on": tuple(new_ids.get(each, each) for each in step.depends_on),
    }
    if isinstance(moved, MapStep):
        changes["step"] = moved.step.model_copy(update={"id": new_ids[step.id]})
    return moved.model_copy(update=changes)


def _waiting(step: PlanStep, part: Plan, new_ids: Mapping[str, str]) -> PlanStep:
    needed = {each for other in part.steps for each in other.depends_on}
    ends = [new_ids[each.id] for each in part.steps if each.id not in needed]
    return step.model_copy(
        update={"sub_steps": tuple(new_ids.values()), "depends_on": (*step.depends_on, *ends)}
    )
