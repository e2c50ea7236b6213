"""JSON Schemas of results, for the policies: planners see them, and each result is held against its own."""

from typing import Any, Final, TypeAlias

Shape: TypeAlias = dict[str, Any]

TEXT: Final[Shape] = {"type": "string"}
WHOLE: Final[Shape] = {"type": "integer"}
FLAG: Final[Shape] = {"type": "boolean"}


def record(**fields: Shape) -> Shape:
    """Return the schema of an object that has all of these fields."""
    return {"type": "object", "properties": fields, "required": list(fields)}


def list_of(**fields: Shape) -> Shape:
    """Return the schema of a list of such objects."""
    return {"type": "array", "items": record(**fields)}
