"""Evaluating expressions that are more than a plain path, within a bound on their cost."""

import base64
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from importlib import import_module
from typing import Protocol, cast

from graph.plan.cost import too_costly
from graph.plan.errors import ReferenceFailure
from graph.plan.expressions import Expression, read_expression
from graph.plan.json_values import JSON, json_type
from graph.plan.tokens import with_doubles

_MESSAGE_LENGTH = 300
_LARGEST_EXACT = 2**53
"""Up to here each whole number is a double of the same value."""


class _Program(Protocol):
    def execute(self, context: Mapping[str, JSON]) -> object: ...


class _Cel(Protocol):
    def compile(self, expression: str) -> _Program: ...


@lru_cache(maxsize=1)
def _library() -> _Cel:
    # Importing cel costs 0.6 s for its own command line; plans of plain paths never need it.
    return cast("_Cel", import_module("cel"))


@lru_cache(maxsize=2048)
def _compiled(text: str) -> _Program:
    return _library().compile(text)


def syntax_fault(text: str) -> str | None:
    """Say why CEL cannot read an expression, or None when it can."""
    try:
        _compiled(text)
    except Exception as error:  # noqa: BLE001 - the parser's error classes are not documented
        return _first_line(error)
    return None


def evaluate(expression: Expression, variables: Mapping[str, JSON]) -> JSON:
    """Evaluate one expression with CEL.

    Args:
        expression: One without a fault.
        variables: The values of its top-level names.

    Returns:
        JSON data; bytes as {"$bytes": base64}, times in ISO form, durations as seconds text ("90s"). A JSON
        number is no int and no double: where CEL refuses to reckon with one of each, both are doubles.

    Raises:
        ReferenceFailure: It cannot be read or evaluated, costs too much on these values, or its result is
            not JSON.
    """
    fault = too_costly(expression, variables)
    if fault is not None:
        raise ReferenceFailure(expression.text, fault)
    try:
        result = _executed(expression.text, variables)
    except Exception as error:  # noqa: BLE001 - CEL raises plain KeyError, TypeError, ValueError and more
        raise ReferenceFailure(expression.text, _explain(error, variables)) from None
    return _from_cel(result, expression.text)


def _executed(text: str, variables: Mapping[str, JSON]) -> object:
    try:
        return _compiled(text).execute(dict(variables))
    except TypeError:
        in_doubles = with_doubles(text)
        if in_doubles is None:
            raise
        values = {name: _as_doubles(value) for name, value in variables.items()}
        with suppress(Exception):  # what is wrong with the expression as it was written is told
            return _compiled(in_doubles).execute(values)
        raise


def _as_doubles(value: JSON) -> JSON:
    if isinstance(value, list):
        return [_as_doubles(each) for each in value]
    if isinstance(value, dict):
        return {key: _as_doubles(each) for key, each in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_EXACT:
        return float(value)
    return value


def evaluate_condition(text: str, variables: Mapping[str, JSON]) -> bool:
    """Evaluate a rule over named values, such as a tool's arguments.

    Raises:
        ReferenceFailure: As for `evaluate`, or the result is not true or false.
    """
    expression = read_expression(text)
    if expression.fault is not None:
        raise ReferenceFailure(text, expression.fault)
    result = evaluate(expression, {name: variables[name] for name in expression.roots if name in variables})
    if not isinstance(result, bool):
        raise ReferenceFailure(text, f"a condition must be true or false, this is a {json_type(result)}")
    return result


def _explain(error: Exception, variables: Mapping[str, JSON]) -> str:
    match error:
        case KeyError():
            return f"no key {error}"
        case ZeroDivisionError():
            return "division by zero"
        case TypeError():
            kinds = ", ".join(f"{name}: {json_type(value)}" for name, value in variables.items())
            return f"types do not fit: {_first_line(error)} ({kinds[:_MESSAGE_LENGTH]})"
        case _:
            return _first_line(error)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:_MESSAGE_LENGTH]


def _from_cel(value: object, text: str) -> JSON:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return _finite(value, text)
        case list() | tuple():
            return [_from_cel(item, text) for item in value]
        case dict():
            return {_key(key, text): _from_cel(item, text) for key, item in value.items()}
        case _:
            return _rare(value, text)


def _finite(value: float, text: str) -> float:
    if math.isfinite(value):
        return value
    raise ReferenceFailure(
        text, f"the result is {value}, which is not a JSON number; check for division by zero"
    )


def _key(key: object, text: str) -> str:
    if isinstance(key, str):
        return key
    raise ReferenceFailure(text, f"the result has the key {key!r}; keys must be text, use string(...)")


def _rare(value: object, text: str) -> JSON:
    match value:
        case bytes():
            return {"$bytes": base64.b64encode(value).decode("ascii")}
        case datetime():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds():g}s"
        case _:
            raise ReferenceFailure(text, f"the result is a {type(value).__name__}, which is not JSON")
