"""Accepting harmless variants of a plan.

Nothing here may make a plan less careful: what a risk, a flag or a failure policy says is taken literally
or refused later, never guessed.
"""

import json
from collections.abc import Mapping

from graph.plan.models import AgentStep, StepModel, ToolStep

_NULL_IS_ABSENT = frozenset(
    {
        "title",
        "depends_on",
        "args",
        "timeout",
        "max_attempts",
        "output_schema",
        "choices",
        "token_budget",
        "fill",
        "max_iterations",
    }
)
_OPTIONAL_HEAD = ("revision", "parent_revision", "assumptions", "params", "author")
_ANY_ACTION = frozenset(ToolStep.model_fields) | frozenset(AgentStep.model_fields)
LATER_FIELDS = ("when", "expect", "fallback", "compensate")
"""Fields of the plan language that this version refuses unless they say nothing."""


def normal_id(value: object) -> object:
    """Return an id as trimmed text when it is text or a whole number, else the value itself."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def normal_plan(
    raw: Mapping[str, object], goal: str | None, plan_id: str, author: str | None
) -> dict[str, object]:
    """Return the fields of a plan with absent ones filled in from the caller's values."""
    fields = {key: value for key, value in raw.items() if key not in _OPTIONAL_HEAD or value is not None}
    fields["goal"] = goal if fields.get("goal") is None else fields["goal"]
    fields["plan_id"] = plan_id if fields.get("plan_id") is None else normal_id(fields["plan_id"])
    if author is not None:
        fields["author"] = author
    if isinstance(fields.get("assumptions"), str):
        fields["assumptions"] = [fields["assumptions"]]
    if "steps" in fields and fields["steps"] is None:
        fields["steps"] = []
    return fields


def normal_step(raw: Mapping[str, object], model: StepModel) -> dict[str, object]:
    """Return the fields of a step: ids as text, null and missing lists alike, one dependency as a list."""
    fields = {key: value for key, value in raw.items() if not _may_be_dropped(key, value, model)}
    if "id" in fields:
        fields["id"] = normal_id(fields["id"])
    if "depends_on" in fields:
        fields["depends_on"] = _ids(fields["depends_on"])
    for name in ("fill", "tools"):
        if isinstance(fields.get(name), (str, list)):
            fields[name] = _ids(fields[name])
    if isinstance(fields.get("args"), str):
        fields["args"] = _decoded_object(fields["args"])
    return fields


def says_nothing(value: object) -> bool:
    """Tell whether a value is null or an empty list or object."""
    return value is None or (isinstance(value, (list, dict)) and not value)


def _may_be_dropped(key: str, value: object, model: StepModel) -> bool:
    """Tell whether a field says no more than leaving it out.

    Models that answer under a strict schema must give every field, also those of the other action.
    """
    if key in LATER_FIELDS or (key in _ANY_ACTION and key not in model.model_fields):
        return says_nothing(value)
    return value is None and key in _NULL_IS_ABSENT


def _ids(value: object) -> object:
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return [normal_id(value)]
    if not isinstance(value, list):
        return value
    ids = [normal_id(item) for item in value]
    return list(dict.fromkeys(ids)) if all(isinstance(item, str) for item in ids) else ids


def _decoded_object(text: object) -> object:
    try:
        decoded = json.loads(str(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text
    return decoded if isinstance(decoded, dict) else text


def _refuse_constant(name: str) -> object:
    msg = f"{name} is not JSON"
    raise ValueError(msg)
