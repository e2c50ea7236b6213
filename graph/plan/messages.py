"""Saying what is wrong with a field in words that name the field and the remedy."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from graph.plan.json_values import json_type

_MOST_NAMES_COMPARED = 500
_SHOWN_CHARS = 60


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return `; did you mean ...?` for close names, or nothing. Long lists are not searched."""
    if len(names) > _MOST_NAMES_COMPARED:
        return ""
    close = get_close_matches(name[:200], names, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def shown(text: str) -> str:
    """Return text in quotes, cut to a readable length."""
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")


def unknown_fields(fields: Mapping[str, object], model: type[BaseModel], where: str) -> list[str]:
    """Return a message for each field that the model does not have."""
    known = model.model_fields
    unknown = [field for field in fields if field not in known]
    names = [name for name in known if name != "steps"] if unknown else []
    return [f"{where} has an unknown field {shown(name)}{_or_list(name, names)}" for name in unknown[:10]]


def _or_list(name: str, names: Sequence[str]) -> str:
    return did_you_mean(name, names) or f"; the fields are {', '.join(names)}"


def field_problems(error: ValidationError, where: str) -> list[str]:
    """Return one message for each fault that pydantic found."""
    return [
        f"{_place(where, detail['loc'])}: {_reason(detail)}" for detail in error.errors(include_url=False)
    ]


def _place(where: str, keys: Iterable[str | int]) -> str:
    return where + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)


def _reason(detail: ErrorDetails) -> str:
    kind, given = detail["type"], cast("object", detail["input"])
    if kind == "missing":
        return "it is missing; give it a value"
    if kind in {"enum", "literal_error"}:
        got = shown(given) if isinstance(given, str) else json_type(given)
        return f"{got} is not allowed; use {detail.get('ctx', {}).get('expected', 'a known value')}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return (
        f"{message}, not {json_type(given)}" if "should be" in message and kind.endswith("type") else message
    )
