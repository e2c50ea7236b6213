"""The one type of data that plans, tool results and journal entries are made of."""

import json
import math
from typing import TypeAlias

from pydantic import JsonValue

JSON: TypeAlias = JsonValue
"""None, bool, int, float, str, list of these, or dict of str to these."""

MAX_DEPTH = 64
"""Levels of lists and objects that a plan may nest; enough for any tool, far from any recursion limit."""


MAX_VALUES = 1_000_000
_MAX_INTEGER_BITS = 4096
_SMALL = 2**63
_SHOWN_PATH = 200


def json_type(value: object) -> str:
    """Return the JSON name of a value's type, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, (list, tuple)) else type(value).__name__


def compact_json(value: JSON) -> str:
    """Return one-line JSON text with no spaces, as it is put inside longer text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_fault(value: object, where: str = "", max_values: int = MAX_VALUES) -> str | None:
    """Say why a value is not storable JSON, or return None when it is.

    Args:
        value: Anything at all, also cyclic or very deep structures.
        where: Path of the value, put in front of the message.
        max_values: How many values it may hold in all; a list inside itself, many times over, has no end.

    Returns:
        One sentence that names the place, or None.
    """
    return None if _is_plain(value, max_values) else _fault_in(value, where, max_values)


def _is_plain(value: object, max_values: int) -> bool:
    """Tell that a value surely is storable JSON: most are, and then no place need be named."""
    layer, seen = [value], 1
    for _ in range(MAX_DEPTH + 1):
        inner: list[object] = []
        for each in layer:
            if type(each) is dict:
                inner += each
                inner += each.values()
                if not all(type(key) is str for key in each):
                    return False
            elif type(each) is list:
                inner += each
            elif not _is_plain_scalar(each):
                return False
            if seen + len(inner) > max_values:
                return False
        if not inner:
            return True
        layer, seen = inner, seen + len(inner)
    return False


def _is_plain_scalar(value: object) -> bool:
    if type(value) is str:
        return "\x00" not in value and (value.isascii() or _text_fault(value) is None)
    if type(value) is int:
        return -_SMALL < value < _SMALL
    return value is None or type(value) is bool or (type(value) is float and math.isfinite(value))


def _fault_in(value: object, where: str, max_values: int) -> str | None:
    todo: list[tuple[object, str, int]] = [(value, where, 0)]
    seen = 0
    while todo:
        current, path, depth = todo.pop()
        seen += 1
        if seen > max_values:
            return f"{_at(where)}more than {max_values} values; split it"
        if depth > MAX_DEPTH:
            return f"{_at(path)}nested deeper than {MAX_DEPTH} levels; flatten it"
        fault = _scalar_fault(current)
        if fault is not None:
            return f"{_at(path)}{fault}"
        todo.extend((child, child_path, depth + 1) for child, child_path in _children(current, path))
    return None


def _at(path: str) -> str:
    shown = path if len(path) <= _SHOWN_PATH else path[:_SHOWN_PATH] + "…"
    return f"{shown}: " if shown else ""


def _children(value: object, path: str) -> list[tuple[object, str]]:
    if isinstance(value, dict):
        keys = [(key if isinstance(key, str) else _NotText(), f"{path} (key)") for key in value]
        return [*((v, f"{path}.{_printable(k)}" if path else _printable(k)) for k, v in value.items()), *keys]
    if isinstance(value, (list, tuple)):
        return [(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return []


class _NotText:
    """Stands for a key that is not text, which no scalar rule would refuse."""


def _printable(key: object) -> str:
    return key.encode("utf-8", "backslashreplace").decode() if isinstance(key, str) else repr(key)[:40]


def _scalar_fault(value: object) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a JSON number; use a finite number or null"
    if isinstance(value, str):
        return _text_fault(value)
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return f"a number of {value.bit_length()} bits is too long; write it as text"
    if value is None or isinstance(value, (bool, int, float, dict, list, tuple)):
        return None
    if isinstance(value, _NotText):
        return "keys of objects must be text; put the key in quotes"
    return f"a {type(value).__name__} is not JSON; use text, numbers, lists and objects"


def _text_fault(text: str) -> str | None:
    if "\x00" in text:
        return "text holds a NUL character; remove it"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "text holds half of a surrogate pair and is not valid Unicode; remove it"
    return None
