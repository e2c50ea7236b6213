"""JSON Schemas in the strict subset that OpenAI accepts, which grammars of other servers accept too."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_ANNOTATIONS = frozenset({"title", "default", "examples", "$schema", "$id", "$comment"})
_KEYWORDS = frozenset(
    {
        "type", "description", "enum", "const", "properties", "required", "additionalProperties", "items",
        "anyOf", "$ref", "$defs", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
        "exclusiveMaximum", "minItems", "maxItems",
    }
)  # fmt: skip
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_MAX_DEPTH = 10


def strict_form(schema: Mapping[str, Any]) -> Schema | None:
    """The same shape in the strict subset, or None when it cannot say it.

    Objects are closed, and a property that may be left out becomes one that may be null.

    Args:
        schema: A JSON Schema whose root is an object.
    """
    try:
        strict = _strict(schema, 0)
    except _NotStrictError:
        return None
    return strict if strict.get("type") == "object" else None


class _NotStrictError(Exception):
    """The schema says something that the strict subset has no words for."""


def _strict(schema: Any, depth: int) -> Schema:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        raise _NotStrictError
    kept = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    if kept.keys() - _KEYWORDS or not kept.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
        raise _NotStrictError
    if kept.get("format") not in (None, *_FORMATS):
        del kept["format"]
    if "items" in kept:
        kept["items"] = _strict(kept["items"], depth + 1)
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(branch, depth) for branch in kept["anyOf"]]
    if "$defs" in kept:
        kept["$defs"] = {name: _strict(part, depth) for name, part in kept["$defs"].items()}
    if kept.get("type") == "array" and "items" not in kept:
        raise _NotStrictError
    return _closed(kept, depth) if kept.get("type") == "object" or "properties" in kept else kept


def _closed(schema: Schema, depth: int) -> Schema:
    if "properties" not in schema or schema.get("additionalProperties", False) is not False:
        raise _NotStrictError
    required = set(schema.get("required", ()))
    properties = {
        name: part if name in required else nullable(part)
        for name, value in schema["properties"].items()
        for part in [_strict(value, depth + 1)]
    }
    return {
        **schema,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    branches = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    return schema if {"type": "null"} in branches else {"anyOf": [*branches, {"type": "null"}]}


def without_absent(value: Any, schema: Mapping[str, Any]) -> Any:
    """An answer without the nulls that stand, under the strict form, for properties that are left out."""
    if isinstance(value, list):
        items = schema.get("items")
        return [without_absent(item, items) for item in value] if isinstance(items, Mapping) else value
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    return {
        name: without_absent(item, properties[name]) if isinstance(properties.get(name), Mapping) else item
        for name, item in value.items()
        if item is not None or name not in properties or name in required
    }
