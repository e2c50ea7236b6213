"""Accepting harmless variants of a plan.

Nothing here may make a plan less careful: what a risk, a flag or a failure policy says is taken literally
or refused later, never guessed.
"""

import json
from collections.abc import Mapping

from graph.plan.steps import AgentStep, LlmStep, MapStep, PlanStep, StepModel, ToolStep

ACTIONS: Mapping[str, StepModel] = {
    "tool": ToolStep,
    "llm": LlmStep,
    "agent": AgentStep,
    "map": MapStep,
    "plan": PlanStep,
}
_NULL_IS_ABSENT = frozenset(
    {
        *("title", "depends_on", "when", "expect", "fallback", "compensate", "timeout", "max_attempts"),
        *("args", "fill", "output_schema", "choices", "role", "token_budget", "max_iterations"),
        *("min_success", "sub_steps"),
    }
)
_OPTIONAL_HEAD = ("revision", "parent_revision", "assumptions", "params", "author")
_LISTS_OF_NAMES = ("fill", "tools", "sub_steps")
_ANY_ACTION = frozenset(name for model in ACTIONS.values() for name in model.model_fields)
_EMPTY_IS_ABSENT = frozenset({"when", "expect", "fallback", "compensate"})


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
    for name in _LISTS_OF_NAMES:
        if isinstance(fields.get(name), (str, list)):
            fields[name] = _ids(fields[name])
    if isinstance(fields.get("args"), str):
        fields["args"] = _decoded_object(fields["args"])
    if isinstance(fields.get("over"), str):
        fields["over"] = _as_reference(str(fields["over"]))
    for name in ("fallback", "compensate"):
        if name in fields:
            fields[name] = _normal_call(fields[name], fields.get("args") if name == "fallback" else None)
    return fields


def _normal_call(value: object, same_args: object) -> object:
    """Return a call beside the step; a fallback without arguments of its own takes those of the step."""
    call = {"tool": value} if isinstance(value, str) else value
    if not isinstance(call, dict):
        return call
    given = {key: part for key, part in call.items() if not (key == "args" and part is None)}
    if isinstance(given.get("args"), str):
        given["args"] = _decoded_object(given["args"])
    if "args" not in given and isinstance(same_args, dict):
        given["args"] = same_args
    return given


def _as_reference(text: str) -> str:
    """Return a list's expression as a reference, also when it is written bare."""
    bare = text.strip()
    return bare if not bare or "${" in bare else f"${{{bare}}}"


def _says_nothing(value: object) -> bool:
    """Tell whether a value is null or an empty list or object."""
    return value is None or (isinstance(value, (list, dict)) and not value)


def _no_condition(key: str, value: object) -> bool:
    """Tell whether a condition is none, or always true."""
    if key not in ("when", "expect"):
        return False
    return value is True or (isinstance(value, str) and value.strip().lower() in ("", "true", "${true}"))


def _may_be_dropped(key: str, value: object, model: StepModel) -> bool:
    """Tell whether a field says no more than leaving it out.

    Models that answer under a strict schema must give every field, also those of the other action.
    """
    if _no_condition(key, value):
        return True
    if key in _EMPTY_IS_ABSENT or (key in _ANY_ACTION and key not in model.model_fields):
        return _says_nothing(value)
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
