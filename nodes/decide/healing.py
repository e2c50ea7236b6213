"""What a reference may have meant, when the result it names lacks its path."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graph.plan import Expression, ReferenceFailure, Scope, Sources, read_expression, resolve

MOST_PATHS = 120
MOST_ITEMS = 3
MOST_DEPTH = 6
_NAME = re.compile(r"[^\W\d]\w*")
_PLAIN: list[Any] = ["string", "number", "boolean", "null"]


def failing(expressions: tuple[Expression, ...], scope: Scope) -> dict[str, ReferenceFailure]:
    """The expressions, by text, that the results at hand have no value for, and why."""
    found: dict[str, ReferenceFailure] = {}
    for expression in expressions:
        try:
            resolve(f"${{{expression.text}}}", scope)
        except ReferenceFailure as failure:
            if expression.fault is None:
                found[expression.text] = failure
    return found


def paths_in(results: Mapping[str, Any]) -> list[str]:
    """Paths of parts of the results, breadth first: of long lists the first items, at most MOST_PATHS."""
    paths: list[str] = []
    todo = [(_root(name), value, 0) for name, value in results.items() if value is not None]
    while todo and len(paths) < MOST_PATHS:
        path, value, depth = todo.pop(0)
        paths.append(path)
        if depth < MOST_DEPTH:
            todo.extend((child, part, depth + 1) for child, part in _parts(path, value))
    return paths


def _root(name: str) -> str:
    return name if _NAME.fullmatch(name) else f"steps[{_quoted(name)}]"


def _parts(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if _NAME.fullmatch(key):
                yield f"{path}.{key}", part
            elif _quotable(key):
                yield f"{path}[{_quoted(key)}]", part
    elif isinstance(value, list):
        yield from ((f"{path}[{at}]", part) for at, part in enumerate(value[:MOST_ITEMS]))


def _quotable(key: str) -> bool:
    return "'" not in key and "\\" not in key and "\n" not in key and "\r" not in key


def _quoted(key: str) -> str:
    return f"'{key}'"


def healing_schema(lost: Mapping[str, Any], paths: list[str], *, by_value: bool) -> dict[str, Any]:
    """The shape of the answer: what each lost reference stands for, `r1`, `r2`, ..., or null.

    A path is one of `paths`. Inside results that are plain text there are none; then a value is given.
    """
    kind = {"type": _PLAIN} if by_value else {"enum": [*paths, None]}
    properties = {
        f"r{at}": {**kind, "description": f"What ${{{text}}} stands for; null when nothing does."}
        for at, text in enumerate(lost, 1)
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def healed_by(
    answer: Mapping[str, Any], lost: Mapping[str, Any], results: Mapping[str, Any], *, by_value: bool
) -> tuple[dict[str, Any], str | None]:
    """The healed references, `{"path": ...}` or `{"value": ...}` by expression, and why the answer is none.

    A value must stand in the results: healing finds, it does not make up.
    """
    chosen = {text: answer[f"r{at}"] for at, text in enumerate(lost, 1)}
    given = {text: choice for text, choice in chosen.items() if choice is not None}
    if not by_value:
        return {text: {"path": path} for text, path in given.items()}, None
    made_up = Sources(dict(results)).lacks(dict(given))
    fault = f"{made_up[0]!r} is in none of the results; copy it from there, or give null" if made_up else None
    return {text: {"value": value} for text, value in given.items()}, fault


def healed_values(healed: Mapping[str, Any] | None, scope: Scope) -> dict[str, Any]:
    """The values of healed references by expression, from their journaled form."""
    found: dict[str, Any] = {}
    for text, choice in (healed or {}).items():
        found[text] = resolve(f"${{{choice['path']}}}", scope) if "path" in choice else choice["value"]
    return found


def needs_values(lost: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Whether a lost reference goes into a result that is plain text, so that no path leads to its part."""
    named = {step_id for text in lost for step_id in read_expression(text).step_ids}
    return any(isinstance(results.get(step_id), str) for step_id in named)
