"""The JSON Schema of a planner's reply, built from the tools: strict for OpenAI, a grammar for others."""

from collections.abc import Iterator
from typing import Any

from graph.plan import OnDependencyFailure
from graph.state import Settings
from nodes.endpoint.argument_schema import REFERENCE_PATTERN, argument_schema
from nodes.endpoint.strict import Schema, nullable
from nodes.endpoint.structured import Form
from tools import RegisteredTool, ToolRegistry

MAX_PROPERTIES = 5_000
MAX_STRING_CHARS = 120_000
MAX_ENUM_VALUES = 1_000
MAX_DEPTH = 10
MAX_STEPS = 100
"""More steps than a planner is given room for at once, whatever the limit of a plan."""
_TOKENS_A_STEP = 50
"""What one step of a plan takes, or nearly: a model that goes on and on ends before it is cut off."""

_TEXT: Schema = {"type": "string"}
_TOOL: Schema = {"$ref": "#/$defs/tool"}
_SPARE_VALUES = 50
_FLAG: Schema = nullable({"type": "boolean"})
_OPTIONS: dict[str, Schema] = {
    "on_dependency_failure": nullable(
        {"type": "string", "enum": [policy.value for policy in OnDependencyFailure]}
    ),
    "optional": _FLAG,
    "require_approval": _FLAG,
    "verify": _FLAG,
}
_TOLD = 'Reply with one JSON object only: {"plan": {"steps": [...]}}, {"answer": "..."} or {"cannot": "..."}.'


def _closed(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_SHARED: dict[str, Schema] = {
    "reference": {"type": "string", "pattern": REFERENCE_PATTERN},
    "ids": {"type": "array", "items": _TEXT},
    "condition": nullable(_TEXT),
    "options": nullable(_closed(**_OPTIONS)),
}
"""What steps have in common, written once: the schema counts as prompt."""
_COMMON: dict[str, Schema] = {
    "depends_on": {"$ref": "#/$defs/ids"},
    "when": {"$ref": "#/$defs/condition"},
    "options": {"$ref": "#/$defs/options"},
}
"""What any step says after what it does. Null for all options at once says nothing: a small model gives a
value to each one that it is asked for by name."""


def plan_form(registry: ToolRegistry, max_steps: int, *, answers: bool) -> Form:
    """The shape of a plan, an answer (when `answers`), or a refusal.

    Where the tools' own schemas are too large for the strict subset's limits, arguments are JSON text.
    """
    free = [_llm_step(), *([_agent_step()] if registry else [])]
    shared = {**_SHARED, **_needs(registry, answers)} if registry else _SHARED
    schema = _reply([*_tool_steps(registry), *free], shared, max_steps, answers=answers)
    if not within_limits(schema):
        schema = _reply([_any_tool_step(), *free], shared, max_steps, answers=answers)
    return Form("plan", schema, strict=within_limits(schema), told=_TOLD)


def room_for_steps(settings: Settings) -> int:
    """How many steps of a plan an answer has room for."""
    return max(1, min(settings.max_steps, settings.max_output_tokens // _TOKENS_A_STEP))


def reads_first(registry: ToolRegistry) -> list[RegisteredTool]:
    """The tools, lookups before writes: a model that takes the first that fits should look first."""
    return sorted((registry[name] for name in registry.names()), key=lambda tool: tool.effect != "read")


def _reply(steps: list[Schema], shared: Schema, max_steps: int, *, answers: bool) -> Schema:
    """The reply's shape. It names the tools that are needed first: a small model then decides by them."""
    names = [f"step{number}" for number in range(1, len(steps) + 1)]
    plan = _closed(
        steps={
            "type": "array",
            "items": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]},
            "minItems": 1,
            "maxItems": min(max_steps, MAX_STEPS),
        },
        assumptions={"type": "array", "items": _TEXT, "maxItems": 5},
    )
    some, none = (
        {"needs": {"$ref": f"#/$defs/{name}"}} if name in shared else {} for name in ("some", "none")
    )
    kinds = [
        _closed(**some, plan=plan),
        *([_closed(**none, answer=_TEXT)] if answers else []),
        _closed(**none, cannot=_TEXT),
    ]
    definitions = {**shared, **dict(zip(names, steps, strict=True))}
    return {**_closed(reply={"anyOf": kinds}), "$defs": definitions}


def _needs(registry: ToolRegistry, answers: bool) -> dict[str, Schema]:
    """The tools that a plan says it needs, and those that other replies do: none.

    A first plan needs some, as there is an answer without. A later one may tell of results alone.
    """
    tools: Schema = {"type": "array", "items": _TOOL}
    some: Schema = {**tools, "minItems": int(answers), "maxItems": len(registry)}
    return {"tool": _tool_name(registry), "some": some, "none": {**tools, "maxItems": 0}}


def _tool_steps(registry: ToolRegistry) -> Iterator[Schema]:
    for tool in reads_first(registry):
        name: Schema = {"type": "string", "enum": [tool.name]}
        yield _step(tool=name, args=argument_schema(tool.args_schema))


def _any_tool_step() -> Schema:
    args: Schema = {"type": "string", "description": "the arguments as a JSON object"}
    return _step(tool=_TOOL, args=args)


def _agent_step() -> Schema:
    tools: Schema = {"type": "array", "items": _TOOL, "minItems": 1}
    return _step(instruction=_TEXT, tools=tools)


def _tool_name(registry: ToolRegistry) -> Schema:
    names = [tool.name for tool in reads_first(registry)]
    return {"type": "string", "enum": names} if len(names) <= MAX_ENUM_VALUES - _SPARE_VALUES else _TEXT


def _llm_step() -> Schema:
    return _step(instruction=_TEXT)


def _step(**own: Schema) -> Schema:
    """A step that begins with what it does, which also says what kind of step it is.

    Asked for the kind first, a small model makes a question to itself of everything. Asked for choices,
    it invents some.
    """
    return _closed(id=_TEXT, **own, **_COMMON)


def within_limits(schema: Schema) -> bool:
    """Whether a schema keeps OpenAI's limits on properties, texts, enums and nesting."""
    properties, chars, enums = 0, 0, 0
    for part in _parts(schema):
        names = [*part.get("properties", ()), *part.get("$defs", ())]
        values = part.get("enum", ())
        properties += len(part.get("properties", ()))
        enums += len(values)
        chars += sum(len(str(text)) for text in (*names, *values))
    within = properties <= MAX_PROPERTIES and chars <= MAX_STRING_CHARS and enums <= MAX_ENUM_VALUES
    return within and _depth(schema, schema["$defs"]) <= MAX_DEPTH


def _parts(schema: Any) -> Iterator[Schema]:
    if isinstance(schema, list):
        for item in schema:
            yield from _parts(item)
    elif isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            inner = value.values() if key in ("properties", "$defs") else [value]
            yield from _parts(list(inner))


def _depth(schema: Any, definitions: Schema) -> int:
    """Levels of objects and lists below and with this one; those that steps share refer to no other."""
    if "$ref" in schema:
        return _depth(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    below = max((_depth(each, definitions) for each in inner), default=0)
    beside = max((_depth(each, definitions) for each in schema.get("anyOf", ())), default=0)
    return max(below + 1 if inner else 0, beside)
