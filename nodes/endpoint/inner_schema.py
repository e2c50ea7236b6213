"""A JSON Schema as a part of another one, so that its references still lead to its own definitions."""

from collections.abc import Mapping
from typing import Any

from nodes.endpoint.strict import Schema

_DEFINITIONS = ("$defs", "definitions")
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", *_DEFINITIONS})
_VALUES = frozenset({"enum", "const", "default", "examples"})


def as_part(schema: Mapping[str, Any], name: str) -> tuple[Schema, Schema]:
    """The schema without its definitions, and these under names that no other part has.

    They belong at the root of the whole, in `$defs`.

    Args:
        schema: A schema that stands alone.
        name: The part's own name within the whole.
    """
    defined = {key: part for where in _DEFINITIONS for key, part in schema.get(where, {}).items()}
    if not defined:
        return dict(schema), {}
    rest = {key: part for key, part in schema.items() if key not in _DEFINITIONS}
    renamed: Schema = _renamed(rest, name)
    return renamed, {f"{name}_{key}": _renamed(part, name) for key, part in defined.items()}


def _renamed(part: Any, name: str) -> Any:
    if isinstance(part, list):
        return [_renamed(each, name) for each in part]
    if not isinstance(part, Mapping):
        return part
    return {key: _keyword(key, value, name) for key, value in part.items()}


def _keyword(key: str, value: Any, name: str) -> Any:
    if key in _BY_NAME and isinstance(value, Mapping):
        return {each: _renamed(part, name) for each, part in value.items()}
    if key == "$ref" and isinstance(value, str):
        return _target(value, name)
    return value if key in _VALUES else _renamed(value, name)


def _target(reference: str, name: str) -> str:
    for where in _DEFINITIONS:
        own = f"#/{where}/"
        if reference.startswith(own):
            return f"#/$defs/{name}_{reference.removeprefix(own)}"
    return reference
