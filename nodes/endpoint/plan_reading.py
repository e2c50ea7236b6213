"""A planner's object as one of its three meanings, whichever of their shapes it has."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodes.replies import BadReply

_KINDS = ("plan", "answer", "cannot")
_ONE_OF_THREE = (
    'give exactly one of {"plan": {"steps": [...]}}, {"answer": "..."} when no tool is needed, and '
    '{"cannot": "..."} with the reason'
)


@dataclass(frozen=True)
class Meaning:
    """What a planner says: exactly one of plan, answer and cannot; `plan` is its object, not judged yet.

    `needs` are the tools that it said the request needs, before it planned; empty when it did not say.
    """

    plan: dict[str, Any] | None = None
    answer: str | None = None
    cannot: str | None = None
    needs: frozenset[str] = frozenset()


def meaning_of(said: Mapping[str, Any]) -> Meaning:
    """Read `{"plan"}`, `{"answer"}`, `{"cannot"}`, each inside `{"reply"}` or not, or a bare plan.

    Raises:
        BadReply: It is none of them, or more than one.
    """
    inner = said.get("reply")
    body = inner if isinstance(inner, Mapping) else said
    if "steps" in body:
        return Meaning(plan=dict(body))
    found = {kind: body[kind] for kind in _KINDS if not _empty(body.get(kind))}
    if len(found) != 1:
        raise BadReply(_ONE_OF_THREE)
    ((kind, value),) = found.items()
    if kind == "plan":
        return Meaning(plan=_plan(value), needs=_names(body.get("needs")))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Meaning(answer=text) if kind == "answer" else Meaning(cannot=text)


def _plan(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"steps": value}
    if not isinstance(value, dict) or "steps" not in value:
        raise BadReply("the plan has no list of steps")
    return value


def _names(value: Any) -> frozenset[str]:
    is_said = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return frozenset(value if is_said else ())


def _empty(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, (list, dict)) and not value)
