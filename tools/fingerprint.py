"""What a tool is to those who wrote a plan for it: a digest that changes when the plan may no longer fit."""

from collections.abc import Mapping
from hashlib import sha256

from graph.plan import JSON, canonical_json
from tools.registered import RegisteredTool

_TELLING = frozenset(
    {
        *("type", "enum", "const", "format", "pattern", "properties", "required", "items", "prefixItems"),
        *("anyOf", "oneOf", "allOf", "$ref", "$defs", "minimum", "maximum", "exclusiveMinimum"),
        *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"),
    }
)
"""What of a JSON schema says which values fit; the rest is words, or differs between library versions."""

_DIGITS = 16


def fingerprint(tool: RegisteredTool) -> str:
    """A digest of the tool's arguments, effect and result; its descriptions do not count."""
    shape: JSON = [
        tool.name,
        tool.effect,
        _telling(tool.args_schema),
        [*sorted(tool.injected)],
        _telling(tool.policy.output_schema),
    ]
    return sha256(canonical_json(shape).encode()).hexdigest()[:_DIGITS]


def fingerprints(tools: Mapping[str, RegisteredTool]) -> dict[str, str]:
    """The fingerprints of all tools of a registry, by name."""
    return {name: fingerprint(tool) for name, tool in tools.items()}


def _telling(schema: object, *, names: bool = False) -> JSON:
    """The part of a JSON schema that says which values fit; property names are kept, whatever they are."""
    if isinstance(schema, Mapping):
        return {
            str(key): _telling(value, names=not names and key in ("properties", "$defs"))
            for key, value in schema.items()
            if names or key in _TELLING
        }
    if isinstance(schema, (list, tuple)):
        return [_telling(each) for each in schema]
    return schema if isinstance(schema, (str, int, float)) else None
