"""Arguments that models write as JSON text although the tool wants the structure itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from graph.plan import JSON

Schema = Mapping[str, Any]

_STRUCTURED: Mapping[str, type] = {"object": dict, "array": list}
_MAX_DEPTH = 64
_OPENING = ("{", "[")
_JSON_SPACE = " \t\n\r"


def decode_arguments(args: Mapping[str, Any], schema: Schema) -> dict[str, JSON]:
    """Return a deep copy with JSON text decoded wherever the schema allows a structure and no text.

    Text stays text wherever the schema allows text, even when it happens to be JSON. Text that is not
    JSON, or JSON of another kind than wanted, stays as it is for the validator to name.

    Args:
        args: Arguments by name.
        schema: JSON Schema of the whole arguments object.
    """
    if not any(_may_change(value) for value in args.values()):
        return dict(args)
    decoded = _decode(dict(args), schema, schema, 0)
    return decoded if isinstance(decoded, dict) else dict(args)


def defaults(schema: Schema) -> dict[str, JSON]:
    """Return the value of each argument that has a default."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    return {name: part["default"] for name, part in properties.items() if "default" in part}


def _decode(value: Any, schema: Schema, root: Schema, depth: int) -> JSON:
    if depth > _MAX_DEPTH:
        return value  # type: ignore[no-any-return]  # the copy ends here; nothing sane is this deep
    if not isinstance(value, (str, Mapping, list, tuple)):
        return value  # type: ignore[no-any-return]
    options = list(_options(schema, root))
    if isinstance(value, str):
        return _decode_text(value, options, root, depth)
    fitting = [option for option in options if _accepts(option, value)]
    chosen: Schema = fitting[0] if len(fitting) == 1 else {}
    if isinstance(value, Mapping):
        return {key: _decode(item, _member(chosen, key), root, depth + 1) for key, item in value.items()}
    return [_decode(item, _element(chosen, at), root, depth + 1) for at, item in enumerate(value)]


def _may_change(value: object) -> bool:
    """Whether a value may have something to decode in it, or must be copied; only quick to say no."""
    if isinstance(value, str):
        return value.lstrip(_JSON_SPACE)[:1] in _OPENING
    return not (value is None or isinstance(value, (int, float)))


def _decode_text(text: str, options: list[Schema], root: Schema, depth: int) -> JSON:
    wanted = {kind for option in options for kind in _kinds(option)}
    if "string" in wanted or "any" in wanted or not wanted & _STRUCTURED.keys():
        return text
    found = _parsed(text)
    if not any(isinstance(found, _STRUCTURED[kind]) for kind in wanted & _STRUCTURED.keys()):
        return text
    structured = [option for option in options if _accepts(option, found)]
    return _decode(found, structured[0] if len(structured) == 1 else {}, root, depth + 1)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _options(schema: Any, root: Schema, depth: int = 0) -> Iterator[Schema]:
    """Yield the plain alternatives behind `$ref`, `anyOf` and `oneOf`."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        yield {}
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _options(_target(reference, root), root, depth + 1)
        return
    branches = schema.get("anyOf") or schema.get("oneOf") or _only_branch(schema)
    if not branches:
        yield schema
        return
    for branch in branches:
        yield from _options(branch, root, depth + 1)


def _only_branch(schema: Schema) -> list[Schema]:
    branches = schema.get("allOf")
    return branches if isinstance(branches, list) and len(branches) == 1 else []


def _target(reference: str, root: Schema) -> Any:
    target: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part:
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, Mapping) else None
    return target


def _kinds(schema: Schema) -> set[str]:
    stated = schema.get("type")
    if isinstance(stated, str):
        return {stated}
    if isinstance(stated, list):
        return set(stated)
    return {"object"} if "properties" in schema else {"any"}


def _accepts(schema: Schema, value: Any) -> bool:
    kinds = _kinds(schema)
    return any(kind in kinds and isinstance(value, of) for kind, of in _STRUCTURED.items())


def _member(schema: Schema, key: object) -> Schema:
    found = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else {}


def _element(schema: Schema, at: int) -> Schema:
    prefix = schema.get("prefixItems")
    found = prefix[at] if isinstance(prefix, list) and at < len(prefix) else schema.get("items")
    return found if isinstance(found, Mapping) else {}
