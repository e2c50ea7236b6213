"""JSON Schemas that come from elsewhere: judged before use, and never a reason to fetch anything."""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, Schema

from graph.plan.schema_patterns import in_time

_NOTHING_ELSE: Registry[Schema] = Registry()
_MAX_DEPTH = 100
_VALUES = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are no schemas."""
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords whose values are schemas by names, which are no keywords."""
_UNTIMED = frozenset({"unevaluatedProperties", "patternProperties"})


def validator_of(schema: Mapping[str, Any]) -> Validator:
    """Return a validator that resolves references within the schema and nowhere else.

    A value over which a pattern takes too long does not fit. The dialect is that of the schema as a whole.
    """
    kind = in_time(validator_for(schema, default=Draft202012Validator))
    return kind(_in_one_dialect(schema), registry=_NOTHING_ELSE)


def _in_one_dialect(part: Any) -> Any:
    """A schema, or a part of one, that names no dialect: jsonschema would take its own validator for that."""
    if isinstance(part, list):
        return [_in_one_dialect(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    plain: dict[str, Any] = {}
    for key, value in part.items():
        if key in _BY_NAME and isinstance(value, Mapping):
            plain[key] = {name: _in_one_dialect(each) for name, each in value.items()}
        elif key != "$schema":
            plain[key] = value if key in _VALUES else _in_one_dialect(value)
    return plain


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """Return why a schema cannot be used: it is none, or refers to something outside or that is not there."""
    if not isinstance(schema.get("$schema", ""), str):
        return "at $['$schema']: it names no dialect"
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except SchemaError as error:
        return f"at {error.json_path}: {error.message}"
    except RecursionError:
        return "it is nested too deep"
    except (ValueError, OverflowError) as error:
        return f"it holds what cannot be read: {error}"
    if {key for part in _parts(schema) for key in part} >= _UNTIMED:
        return "it has unevaluatedProperties beside patternProperties; use additionalProperties"
    return _lost_reference(schema)


def _lost_reference(schema: Mapping[str, Any]) -> str | None:
    resource = Resource.from_contents(dict(schema), default_specification=DRAFT202012)
    base = resource.id() or ""
    resolver = _NOTHING_ELSE.with_resource(base, resource).resolver(base)
    for reference in (part.get("$ref") for part in _parts(schema, besides=_VALUES)):
        if not isinstance(reference, str):
            continue
        try:
            found = resolver.lookup(reference).contents
        except (Unresolvable, ValueError):
            found = None
        if not isinstance(found, (Mapping, bool)):
            return f"it refers to {reference}, which is not in it"
    return None


def _parts(
    part: Any, depth: int = 0, *, besides: frozenset[str] = frozenset()
) -> Iterator[Mapping[str, Any]]:
    """The objects in a schema, itself among them, but for those under some of the keys."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(part, Mapping):
        yield part
        part = [value for key, value in part.items() if key not in besides]
    if isinstance(part, list):
        for value in part:
            yield from _parts(value, depth + 1, besides=besides)
