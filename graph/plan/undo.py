"""Undoing a run that is given up: the revision that compensates what was done, last things first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph.plan.expressions import INDEX, ITEM, RESULT
from graph.plan.implied import with_implied_dependencies
from graph.plan.json_values import JSON
from graph.plan.models import UNDO_AUTHOR, Plan
from graph.plan.renaming import renamed_call, step_name
from graph.plan.steps import Call, MapStep, OnDependencyFailure, Step, ToolStep
from graph.plan.tokens import escaped

UNDO_SUFFIX = "@undo"
"""How the ids of steps end that undo others; no other step may have such an id."""

_OF_EACH = {RESULT: f"{ITEM}.{RESULT}", ITEM: f"{ITEM}.{ITEM}", INDEX: f"{ITEM}.{INDEX}"}


@dataclass(frozen=True, slots=True)
class Done:
    """A step whose effects are to be undone.

    Attributes:
        step: The step; one that a later revision replaced goes by the id that its record has since.
        args: The call's arguments where no expression can name what the step gave: it failed after its write
            was made, or has an id that expressions cannot name. Else the call's own are used.
        items: For a map undone item by item, what is to be undone: `{"item", "index", "result"}` of each.
    """

    step: Step
    args: Mapping[str, JSON] | None = None
    items: tuple[JSON, ...] = ()


def undone_id(undo_step: str) -> str:
    """Return the id of the step that a step of the id `undo_step` undoes."""
    return undo_step.removesuffix(UNDO_SUFFIX)


def undo_id(step_id: str) -> str:
    """Return the id of the step that undoes another."""
    return f"{step_id}{UNDO_SUFFIX}"


def undoes_another(step_id: str) -> bool:
    """Tell whether the step of this id undoes another."""
    return step_id.endswith(UNDO_SUFFIX)


def undoing(step: Step) -> Call | None:
    """Return the call that undoes a step, or each item of a map, and None where nothing does."""
    return step.compensate or (step.step.compensate if isinstance(step, MapStep) else None)


def undoes_items(step: Step) -> bool:
    """Tell whether a step is undone item by item."""
    return isinstance(step, MapStep) and step.compensate is None and step.step.compensate is not None


def undo_revision(plan: Plan, done: Sequence[Done]) -> Plan:
    """Make the revision that undoes steps one after the other, the last one first.

    A step that cannot be undone does not keep the others from it. All other steps stay as they are.

    Args:
        plan: The revision that was given up; no step of it undoes another.
        done: The steps to undo, all with a call for it, in the order in which they were done.

    Raises:
        ValueError: A step without `args` has an id with both kinds of quotes, or a backslash.
    """
    steps: list[Step] = []
    for each in reversed(done):
        before = (steps[-1].id,) if steps else ()
        steps.append(_undo(each, before))
    changes = {"revision": plan.revision + 1, "parent_revision": plan.revision, "author": UNDO_AUTHOR}
    return with_implied_dependencies(plan.model_copy(update={**changes, "steps": (*plan.steps, *steps)}))


def undo_part(plan: Plan) -> Plan | None:
    """Return the plan with only the steps that undo others; None unless it is an undoing revision."""
    return _only(plan, undo=True) if plan.author == UNDO_AUTHOR else None


def without_undo(plan: Plan) -> Plan:
    """Return the plan without the steps that undo others."""
    return _only(plan, undo=False) if plan.author == UNDO_AUTHOR else plan


def _only(plan: Plan, *, undo: bool) -> Plan:
    steps = tuple(step for step in plan.steps if undoes_another(step.id) is undo)
    return plan.model_copy(update={"steps": steps})


def _undo(done: Done, before: tuple[str, ...]) -> Step:
    step = done.step
    call = undoing(step)
    assert call is not None, f"nothing undoes {step.id}"
    fields: dict[str, Any] = {
        "id": undo_id(step.id),
        "title": f"undo {step.title or step.id}",
        # What is not named, as what it gave is in the call, may not have ended.
        "depends_on": before if undoes_items(step) or done.args is not None else (step.id, *before),
        "on_dependency_failure": OnDependencyFailure.DEGRADE,
    }
    if undoes_items(step):
        made = renamed_call(call, _OF_EACH)
        each = ToolStep(id=undo_id(step.id), tool=made.tool, args=made.args)
        return MapStep(over=escaped(list(done.items)), step=each, **fields)
    if done.args is not None:
        return ToolStep(tool=call.tool, args=dict(done.args), **fields)
    made = renamed_call(call, {RESULT: step_name(step.id)})
    return ToolStep(tool=made.tool, args=made.args, **fields)
