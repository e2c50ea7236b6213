"""The planner's schema: inside OpenAI's strict subset, whatever the tools, and wide enough for any plan."""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from nodes.endpoint.plan_schema import plan_form, within_limits
from nodes.prompts import PLANNER
from tests.endpoint.office import Office, Slot
from tools import ToolRegistry, policy

DOCUMENTED = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref",
    "$defs", "description", "pattern", "format", "multipleOf", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "minItems", "maxItems",
}  # fmt: skip
"""The keywords of https://platform.openai.com/docs/guides/structured-outputs#supported-schemas."""


class Node(BaseModel):
    """A tree."""

    name: str = Field(min_length=1, max_length=9)
    children: list["Node"] = []


def wild_tools() -> ToolRegistry:
    """Tools with arguments of every kind that pydantic and MCP servers declare."""

    @policy(effect="read")
    def typed(
        *,
        count: int,
        share: float,
        yes: bool,
        kind: Literal["a", "b"],
        level: Literal[1, 2],
        tags: list[str],
        slot: Slot,
        tree: Node,
        free: dict[str, Any],
        anything: Any,
        either: int | str,
        pairs: list[tuple[int, str]],
        maybe: int | None = None,
        text: str = "x",
    ) -> str:
        """Take all kinds."""
        return ""

    schema = {
        "type": "object",
        "properties": {
            "one": {"oneOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
            "many": {"type": ["string", "null"], "pattern": "^a", "format": "uri"},
            "all": {"allOf": [{"$ref": "#/definitions/x"}]},
            "not": {"not": {"type": "string"}},
            "keyed": {"type": "object", "patternProperties": {"^a": {}}},
            "bare": {"type": "array"},
            "const": {"const": 3},
        },
        "required": ["one"],
        "definitions": {"x": {"type": "object", "properties": {"y": {"$ref": "#/definitions/x"}}}},
    }
    foreign = StructuredTool.from_function(
        lambda **_given: "", name="foreign", description="From elsewhere.", args_schema=schema
    )

    @policy(effect="read")
    def none() -> str:
        """Take nothing."""
        return ""

    return ToolRegistry.of(typed, foreign, none)


def many_tools(count: int, arguments: int) -> ToolRegistry:
    def tool(number: int) -> StructuredTool:
        properties = {f"argument_number_{at}": {"type": "integer"} for at in range(arguments)}
        schema = {"type": "object", "properties": properties, "required": []}
        return StructuredTool.from_function(
            lambda **_given: "", name=f"tool_{number}", description="One of many.", args_schema=schema
        )

    return ToolRegistry.of(*(tool(number) for number in range(count)))


def schemas(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a schema; names of properties are no keywords."""
    yield part
    for key in ("properties", "$defs"):
        for inner in part.get(key, {}).values():
            yield from schemas(inner)
    for inner in [*part.get("anyOf", []), *([part["items"]] if "items" in part else [])]:
        yield from schemas(inner)


def nesting(part: dict[str, Any], root: dict[str, Any]) -> int:
    if "$ref" in part:
        return nesting(root["$defs"][part["$ref"].removeprefix("#/$defs/")], root)
    inner = [*part.get("properties", {}).values(), *([part["items"]] if "items" in part else [])]
    below = [nesting(each, root) + 1 for each in inner]
    return max([0, *below, *(nesting(each, root) for each in part.get("anyOf", []))])


REGISTRIES = {
    "an office": Office().tools(),
    "no tools": ToolRegistry.of(),
    "wild tools": wild_tools(),
    "150 tools": many_tools(150, 10),
    "too much for the limits": many_tools(400, 20),
}


@pytest.mark.parametrize("name", REGISTRIES)
def test_the_schema_stays_inside_the_documented_strict_subset(name: str) -> None:
    root = plan_form(REGISTRIES[name], 200, answers=True).schema
    Draft202012Validator.check_schema(root)
    assert root["type"] == "object"
    assert "anyOf" not in root
    for part in schemas(root):
        assert part, "an empty schema says nothing"
        assert part.keys() <= DOCUMENTED, part
        assert part.keys() & {"type", "anyOf", "$ref"}, part
        assert isinstance(part.get("type", ""), str)
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        if part.get("type") == "array":
            assert "items" in part
        if "$ref" in part:
            assert part["$ref"].removeprefix("#/$defs/") in root["$defs"]
    every = list(schemas(root))
    names = [name for part in every for name in (*part.get("properties", {}), *part.get("$defs", {}))]
    values = [value for part in every for value in part.get("enum", [])]
    assert sum(len(part.get("properties", {})) for part in every) <= 5000
    assert sum(map(len, map(str, names + values))) <= 120_000
    assert len(values) <= 1000
    assert nesting(root, root) <= 10


def test_tools_too_many_for_the_limits_are_named_and_take_their_arguments_as_text() -> None:
    form = plan_form(REGISTRIES["too much for the limits"], 200, answers=True)
    step = form.schema["$defs"]["step1"]["properties"]
    assert step["tool"] == {"$ref": "#/$defs/tool"}
    assert len(form.schema["$defs"]["tool"]["enum"]) == 400
    assert step["args"]["type"] == "string"
    assert form.strict


def test_lookups_are_listed_before_writes() -> None:
    form = plan_form(Office().tools(), 200, answers=True)
    tools = [form.schema["$defs"][f"step{n}"]["properties"]["tool"]["enum"][0] for n in (1, 2, 3)]
    assert tools == ["web_search", "book", "write_file"]


def _args_validator(registry: ToolRegistry, name: str) -> Draft202012Validator:
    root = plan_form(registry, 200, answers=True).schema
    for part in root["$defs"].values():
        if part.get("properties", {}).get("tool", {}).get("enum") == [name]:
            return Draft202012Validator({**part["properties"]["args"], "$defs": root["$defs"]})
    raise AssertionError(name)


def test_a_reference_is_allowed_wherever_a_value_is_and_other_text_is_not() -> None:
    validator = _args_validator(Office().tools(), "book")
    plain = {"slot": {"start": "now", "names": None}, "count": 3, "tags": ["a", "${s1.tag}"], "note": None}
    assert validator.is_valid(plain)
    for name in plain:
        assert validator.is_valid({**plain, name: "${s1.x[0]}"})
        assert validator.is_valid({**plain, name: None})
    assert validator.is_valid({**plain, "slot": {"start": "now", "names": "${s1.names}"}})
    assert not validator.is_valid({**plain, "count": "three"})
    assert not validator.is_valid({**plain, "count": "${s1.x} or so"})
    assert not validator.is_valid({name: value for name, value in plain.items() if name != "note"})


def test_steps_without_a_tool_of_their_own_are_offered_after_those_with_one() -> None:
    steps = plan_form(Office().tools(), 200, answers=True).schema["$defs"]
    assert "tools" not in steps["step4"]["properties"]
    agent = steps["step5"]["properties"]
    assert agent["tools"]["items"] == {"$ref": "#/$defs/tool"}
    assert steps["tool"]["enum"] == ["web_search", "book", "write_file"]
    assert "step2" not in plan_form(ToolRegistry.of(), 200, answers=True).schema["$defs"]


def test_a_step_says_first_what_it_does_and_last_what_is_seldom_said() -> None:
    steps = plan_form(Office().tools(), 200, answers=True).schema["$defs"]
    order = [list(steps[f"step{number}"]["properties"]) for number in (1, 4, 5)]
    ends = ["depends_on", "when", "options"]
    assert order == [
        ["id", "tool", "args", *ends],
        ["id", "instruction", *ends],
        ["id", "instruction", "tools", *ends],
    ]
    step = Draft202012Validator({"$ref": "#/$defs/step4", "$defs": steps})
    said: dict[str, Any] = {"id": "s1", "instruction": "i", "depends_on": [], "when": None}
    assert step.is_valid({**said, "options": None})
    assert step.is_valid({**said, "options": None, "when": "s1.ok"})
    nothing = {"on_dependency_failure": None, "optional": None, "require_approval": None, "verify": None}
    assert step.is_valid({**said, "options": nothing})
    assert not step.is_valid({**said, "options": {"optional": True}})


def test_a_reply_names_the_tools_it_needs_first_and_only_a_plan_needs_any() -> None:
    form = plan_form(Office().tools(), 200, answers=True)
    said = Draft202012Validator(form.schema)
    for kind in ("answer", "cannot"):
        assert said.is_valid({"reply": {"needs": [], kind: "x"}})
        assert not said.is_valid({"reply": {"needs": ["book"], kind: "x"}})
    plan: dict[str, Any] = {
        "steps": [{"id": "s1", "instruction": "i", "depends_on": [], "when": None, "options": None}]
    }
    assert said.is_valid({"reply": {"needs": ["book"], "plan": {**plan, "assumptions": []}}})
    assert not said.is_valid({"reply": {"needs": [], "plan": {**plan, "assumptions": []}}})
    assert said.is_valid(
        {"reply": {"needs": ["book"] * len(Office().tools()), "plan": {**plan, "assumptions": []}}}
    )
    endless = ["book"] * (len(Office().tools()) + 1)
    assert not said.is_valid({"reply": {"needs": endless, "plan": {**plan, "assumptions": []}}})
    assert not said.is_valid({"reply": {"needs": ["steal"], "plan": {**plan, "assumptions": []}}})
    later = Draft202012Validator(plan_form(Office().tools(), 200, answers=False).schema)
    assert later.is_valid({"reply": {"needs": [], "plan": {**plan, "assumptions": []}}})
    for kind in plan_form(ToolRegistry.of(), 200, answers=True).schema["properties"]["reply"]["anyOf"]:
        assert "needs" not in kind["properties"]


def test_what_the_prompt_shows_is_what_the_schema_takes() -> None:
    @policy(effect="read")
    def get_invoice(number: str) -> str:
        """Look an invoice up."""
        return number

    @policy(effect="read")
    def find_person(name: str) -> str:
        """Look a person up."""
        return name

    @policy(effect="write")
    def send_mail(to: str, text: str) -> str:
        """Send a mail."""
        return to + text

    validator = Draft202012Validator(
        plan_form(ToolRegistry.of(get_invoice, find_person, send_mail), 200, answers=True).schema
    )
    examples = PLANNER[PLANNER.index("Examples") :]
    starts = [found.start() for found in re.finditer(r'\{"reply"', examples)]
    shown = [json.JSONDecoder().raw_decode(examples, start)[0] for start in starts]
    kinds = ["plan", "plan", "answer", "cannot"]
    assert [list(each["reply"]) for each in shown] == [["needs", kind] for kind in kinds]
    for each in shown:
        validator.validate(each)


def test_a_replanner_is_not_offered_an_answer() -> None:
    kinds = plan_form(Office().tools(), 200, answers=False).schema["properties"]["reply"]["anyOf"]
    assert [list(kind["properties"]) for kind in kinds] == [["needs", "plan"], ["needs", "cannot"]]


def test_a_schema_beyond_the_limits_is_known_as_such() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = {"type": "array", "items": deep}
    assert not within_limits({"type": "object", "properties": {"x": deep}, "$defs": {}})
