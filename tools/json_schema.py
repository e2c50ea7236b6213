"""What a tool's own JSON Schema says of its arguments."""

from collections.abc import Iterator, Mapping
from typing import Any

_BRANCHES = ("anyOf", "oneOf", "allOf")
_MAX_DEPTH = 100


def with_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an object's schema that names its properties at its top, where its branches alone do."""
    if "properties" in schema or "additionalProperties" in schema:
        return schema
    names = dict.fromkeys(_names(schema, schema, 0))
    return {**schema, "properties": {name: {} for name in names}} if names else schema


def _names(part: Any, root: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the properties that a schema's own branches and local references know."""
    if not isinstance(part, Mapping) or depth > _MAX_DEPTH:
        return
    if isinstance(part.get("properties"), Mapping):
        yield from part["properties"]
    for branch in (branch for key in _BRANCHES for branch in part.get(key, ())):
        yield from _names(branch, root, depth + 1)
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for key in reference.removeprefix("#/").split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        yield from _names(target, root, depth + 1)
