"""Turning anything into a plan, or into the reasons why it is none."""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from graph.plan.errors import PlanProblem
from graph.plan.expressions import RESERVED_IDS
from graph.plan.implied import with_implied_dependencies
from graph.plan.json_values import json_fault, json_type
from graph.plan.messages import field_problems, unknown_fields
from graph.plan.models import Plan
from graph.plan.normalise import ACTIONS, normal_id, normal_plan, normal_step
from graph.plan.steps import MapStep, Step, StepModel

_ENOUGH_PROBLEMS = 200
BAD_PLAN = "bad_plan"
_NAMELESS = "map"
"""The id of a step within a map whose own id is no good: that is told of the map, where it was written."""

_OF_THE_WHOLE_MAP = frozenset({"on_dependency_failure", "optional", "verify"})

Parsed = tuple[Plan | None, tuple[PlanProblem, ...]]


def parse_plan(
    data: object, *, goal: str | None = None, plan_id: str | None = None, author: str | None = None
) -> Parsed:
    """Read a plan from decoded JSON or from a Plan. Never raises, whatever the data.

    Args:
        data: What a caller, a file or a model gave.
        goal: Used when the data has no goal.
        plan_id: Used when the data has no plan_id; a new one is made when both are absent.
        author: Replaces the data's author; without it the data's own is kept, or "caller".

    Returns:
        A plan and no problems, or None and at least one problem. The plan may still fail `check_plan`.
    """
    raw = data.to_json() if isinstance(data, Plan) else data
    if not isinstance(raw, dict):
        return None, (_problem(f"a plan is an object with goal and steps, this is {json_type(raw)}"),)
    fault = json_fault(raw)
    if fault is not None:
        return None, (_problem(fault),)
    head = normal_plan(raw, goal, plan_id or uuid.uuid4().hex, author)
    steps, problems = _parse_steps(head.pop("steps", None))
    plan, head_problems = _parse_head(head, steps)
    problems = (*head_problems, *problems)
    return (None, problems) if plan is None or problems else (with_implied_dependencies(plan), ())


def _parse_steps(raw: object) -> tuple[tuple[Step, ...], tuple[PlanProblem, ...]]:
    if not isinstance(raw, list):
        what = "is missing" if raw is None else f"is {json_type(raw)}"
        return (), (_problem(f"steps {what}; give a list of steps"),)
    steps: list[Step] = []
    problems: list[PlanProblem] = []
    for index, item in enumerate(raw):
        step, faults = _parse_step(item, f"steps[{index}]")
        steps += [] if step is None else [step]
        problems += faults
        if len(problems) >= _ENOUGH_PROBLEMS:
            break
    return tuple(steps), tuple(problems)


def _parse_step(raw: object, where: str) -> tuple[Step | None, tuple[PlanProblem, ...]]:
    if not isinstance(raw, dict):
        return None, (_problem(f"{where} is {json_type(raw)}; a step is an object with id and action"),)
    step_id = normal_id(raw.get("id"))
    known_id = step_id if isinstance(step_id, str) else None
    action = raw.get("action")
    model = ACTIONS.get(action) if isinstance(action, str) else None
    if model is None:
        shown = repr(action[:40]) if isinstance(action, str) else json_type(action)
        message = f"{where}.action is {shown}; it must be one of {', '.join(ACTIONS)}"
        return None, (_problem(message, known_id),)
    fields = normal_step(raw, model)
    inner, problems = _inner_step(fields, known_id, where) if model is MapStep else ({}, ())
    if problems:
        return None, problems
    return _validate_step(model, {**fields, **inner}, known_id, where)


def _inner_step(
    fields: Mapping[str, object], step_id: str | None, where: str
) -> tuple[dict[str, object], tuple[PlanProblem, ...]]:
    """Return the fields of a map that its inner step decides: the step, read, and what it depends on."""
    raw = fields.get("step")
    if raw is None:
        return {}, ()  # told as a missing field
    if isinstance(raw, dict) and raw.get("action") in ("map", "plan"):
        message = (
            f"{where}.step: a map runs tool, llm or agent steps; make the {raw['action']} a step beside it"
        )
        return {}, (_problem(message, step_id),)
    named = step_id if step_id and not _id_messages(step_id, where) else _NAMELESS
    known = {**raw, "id": named} if isinstance(raw, dict) else raw
    step, problems = _parse_step(known, f"{where}.step")
    if step is None:
        return {}, tuple(replace(problem, step_id=step_id) for problem in problems)
    needless = sorted(step.model_fields_set & _OF_THE_WHOLE_MAP)
    if needless:
        return {}, (_problem(f"{where}.step.{needless[0]}: give it to the map, not to its step", step_id),)
    given = fields.get("depends_on", [])
    needs = (
        [*given, *(each for each in step.depends_on if each not in given)]
        if isinstance(given, list)
        else given
    )
    return {"step": step.model_copy(update={"depends_on": ()}), "depends_on": needs}, ()


def _validate_step(
    model: StepModel, fields: dict[str, object], step_id: str | None, where: str
) -> tuple[Step | None, tuple[PlanProblem, ...]]:
    messages = [*unknown_fields(fields, model, where), *_id_messages(step_id, where)]
    if messages:
        return None, tuple(_problem(message, step_id) for message in messages)
    try:
        return model.model_validate(fields), ()
    except ValidationError as error:
        return None, tuple(_problem(message, step_id) for message in field_problems(error, where))


def _id_messages(step_id: str | None, where: str) -> list[str]:
    if step_id in RESERVED_IDS:
        return [f"{where}.id: {step_id!r} has a meaning of its own in expressions; choose another id"]
    if step_id is not None and not step_id.isprintable():
        return [f"{where}.id: it holds characters that cannot be printed; use visible ones"]
    if step_id is not None and "#" in step_id and step_id.rpartition("#")[2].isdigit():
        return [f"{where}.id: an id that ends in # and a number is kept for list items; choose another id"]
    if step_id is not None and "@r" in step_id and step_id.rpartition("@r")[2].isdigit():
        return [f"{where}.id: ids that end in @r and a number stand for old revisions; choose another id"]
    if step_id is not None and step_id.endswith("@fallback"):
        return [f"{where}.id: ids that end in @fallback stand for steps' fallbacks; choose another id"]
    return []


def _parse_head(
    head: dict[str, object], steps: tuple[Step, ...]
) -> tuple[Plan | None, tuple[PlanProblem, ...]]:
    messages = unknown_fields(head, Plan, "plan")
    try:
        plan = Plan.model_validate(
            {**{key: head[key] for key in head if key in Plan.model_fields}, "steps": steps}
        )
    except ValidationError as error:
        return None, tuple(_problem(message) for message in [*messages, *field_problems(error, "plan")])
    return plan, tuple(_problem(message) for message in messages)


def _problem(message: str, step_id: str | None = None) -> PlanProblem:
    return PlanProblem(BAD_PLAN, step_id, message)
