"""A tool's arguments in one short line, for prompts: a third of the tokens of their JSON Schema."""

import json
from collections.abc import Mapping
from typing import Any

from nodes.endpoint.argument_schema import options

_MAX_LEVELS = 3
_SHOWN_VALUES = 12
_SHOWN_CHARS = 200


def signature(schema: Mapping[str, Any]) -> str:
    """`order_id: string, note?: string` for an object's JSON Schema; `?` marks what may be left out.

    What a property's own description says follows in quotes.
    """
    return _members(schema, schema, 0)


def _members(schema: Mapping[str, Any], root: Mapping[str, Any], level: int) -> str:
    required = schema.get("required", ())
    parts = [
        f"{name}{'' if name in required else '?'}: {_value(part, root, level + 1)}{_told(part)}"
        for name, part in schema.get("properties", {}).items()
    ]
    return ", ".join(parts)


def _told(schema: Any) -> str:
    words = schema.get("description") if isinstance(schema, Mapping) else None
    return f" {json.dumps(' '.join(words.split())[:_SHOWN_CHARS], ensure_ascii=False)}" if words else ""


def _value(schema: Any, root: Mapping[str, Any], level: int) -> str:
    kinds = [_option(option, root, level) for option in options(schema, root)]
    return " | ".join(dict.fromkeys(kind for kind in kinds if kind != "null")) or "null"


def _option(option: Mapping[str, Any], root: Mapping[str, Any], level: int) -> str:
    values = option.get("enum", [option["const"]] if "const" in option else None)
    if isinstance(values, list) and 0 < len(values) <= _SHOWN_VALUES:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    kind = option.get("type", "object" if "properties" in option else "any")
    if isinstance(kind, list):
        return " | ".join(each for each in kind if each != "null")
    if kind == "array" and level < _MAX_LEVELS and option.get("items"):
        return f"list of ({_value(option['items'], root, level + 1)})"
    if kind == "object" and level < _MAX_LEVELS and option.get("properties"):
        return f"{{{_members(option, root, level)}}}"
    return str(kind)
