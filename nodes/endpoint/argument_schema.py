"""A tool's argument schema as a plan may write it: strict, and a reference allowed where a value is."""

from collections.abc import Iterator, Mapping
from typing import Any

from nodes.endpoint.strict import Schema, nullable

REFERENCE: Schema = {"$ref": "#/$defs/reference"}
REFERENCE_PATTERN = r'^\$\{[^{}"\\\n\r]+\}$'
_SCALARS = ("integer", "number", "boolean")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_ITEM_BOUNDS = ("minItems", "maxItems")
_MAX_LEVELS = 3
_MAX_REFS = 20
_MAX_ENUM = 100
_JSON_TEXT: Schema = {"type": "string", "description": "a JSON object or list, written as text"}
_ANYTHING: list[Schema] = [{"type": kind} for kind in ("string", "number", "boolean")]
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def argument_schema(schema: Mapping[str, Any]) -> Schema:
    """The closed object of a call's arguments. All are named, and may be null.

    Null leaves an argument out, or open until the step runs where the tool needs one.

    Args:
        schema: The tool's own JSON Schema of its arguments, with whatever keywords it has.
    """
    members = _members(schema, schema, 0)
    properties = {name: nullable(part) for name, part in members["properties"].items()}
    return {**members, "properties": properties}


def kinds(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """The JSON types that a schema allows; `any` when it does not say."""
    found: set[str] = set()
    for option in options(schema, root):
        stated = option.get("type")
        if isinstance(stated, (str, list)):
            found.update([stated] if isinstance(stated, str) else stated)
        else:
            found.add("object" if "properties" in option else "any")
    return found


def options(schema: Any, root: Mapping[str, Any], followed: int = 0) -> Iterator[Mapping[str, Any]]:
    """The plain alternatives behind `$ref`, `anyOf`, `oneOf` and a lone `allOf`."""
    if not isinstance(schema, Mapping) or followed > _MAX_REFS:
        yield {}
        return
    if isinstance(schema.get("$ref"), str):
        yield from options(_target(schema["$ref"], root), root, followed + 1)
        return
    lone = schema.get("allOf")
    branches = schema.get("anyOf") or schema.get("oneOf") or (lone if lone and len(lone) == 1 else None)
    if not isinstance(branches, list):
        yield schema
        return
    for branch in branches:
        yield from options(branch, root, followed + 1)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    target: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, Mapping) else None
    return target


def _members(schema: Mapping[str, Any], root: Mapping[str, Any], level: int) -> Schema:
    required = set(schema.get("required", ()))
    properties = {
        name: part if name in required else nullable(part)
        for name, value in schema.get("properties", {}).items()
        for part in [_value(value, root, level + 1)]
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _value(schema: Any, root: Mapping[str, Any], level: int) -> Schema:
    branches: list[Schema] = []
    for option in options(schema, root):
        branches += [branch for branch in _branches(option, root, level) if branch not in branches]
    # Text can hold a reference anyway; all other types need a branch for it.
    if {"type": "string"} not in branches and branches != [{"type": "null"}]:
        branches.append(REFERENCE)
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def _branches(option: Mapping[str, Any], root: Mapping[str, Any], level: int) -> Iterator[Schema]:
    values = option.get("enum", [option["const"]] if "const" in option else None)
    if isinstance(values, list) and 0 < len(values) <= _MAX_ENUM and _one_type(values) is not None:
        yield {"type": _one_type(values), "enum": values}
        return
    stated = option.get("type", "object" if "properties" in option else None)
    for kind in [stated] if isinstance(stated, str) else stated or [None]:
        yield from _of_kind(kind, option, root, level)


def _of_kind(kind: Any, option: Mapping[str, Any], root: Mapping[str, Any], level: int) -> Iterator[Schema]:
    if kind in ("string", "null"):
        yield {"type": kind}
    elif kind in _SCALARS:
        bounds = {key: option[key] for key in _BOUNDS if _is_number(option.get(key))}
        # A grammar for integers is built from the digits of their bounds.
        yield {"type": kind, **{k: v for k, v in bounds.items() if kind != "integer" or isinstance(v, int)}}
    elif kind == "array" and level < _MAX_LEVELS and isinstance(option.get("items"), Mapping):
        bounds = {key: option[key] for key in _ITEM_BOUNDS if _is_number(option.get(key))}
        yield {"type": "array", "items": _value(option["items"], root, level + 1), **bounds}
    elif kind == "object" and level < _MAX_LEVELS and _is_closed(option):
        yield _members(option, root, level)
    elif kind in ("array", "object"):
        yield _JSON_TEXT
    else:
        yield from _ANYTHING


def _is_closed(option: Mapping[str, Any]) -> bool:
    return bool(option.get("properties")) and not option.get("additionalProperties")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _one_type(values: list[Any]) -> str | None:
    types = {type(value) for value in values}
    return _TYPE_NAMES.get(types.pop()) if len(types) == 1 else None
