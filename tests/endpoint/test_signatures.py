"""Tools in prompts: short, lookups first."""

from nodes.endpoint.signatures import signature
from nodes.prompts import tool_list
from tests.endpoint.office import Office
from tests.endpoint.test_plan_schema import wild_tools
from tools import ToolRegistry, policy


def test_the_tools_stand_in_the_prompt_one_a_line_and_lookups_first() -> None:
    assert tool_list(Office().tools()).splitlines() == [
        "- web_search(query: string) [read]: Search the web.",
        "- book(slot: {start: string, names?: list of (string)}, count: integer, tags: list of (string), "
        "note?: string) [read]: Look a slot up.",
        "- write_file(path: string, content: any) [write]: Write a file.",
    ]
    assert tool_list(ToolRegistry.of()) == "(none)"


def test_what_a_tool_promises_to_return_can_be_referred_to() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}

    @policy(effect="read", output_schema=schema)
    def add(first: float) -> dict[str, float]:
        """Add up."""
        return {"total": first}

    assert tool_list(ToolRegistry.of(add)) == "- add(first: number) -> {total: number} [read]: Add up."


def test_arguments_of_every_kind_have_a_short_form() -> None:
    typed = signature(wild_tools()["typed"].args_schema)
    assert 'kind: "a" | "b", level: 1 | 2' in typed
    assert "maybe?: integer" in typed
    assert "either: integer | string" in typed
    foreign = signature(wild_tools()["foreign"].args_schema)
    assert "one: integer" in foreign
    assert "const?: 3" in foreign


def test_what_a_property_says_of_itself_follows_in_quotes() -> None:
    schema = {"properties": {"id": {"type": "string", "description": "the order's\n number"}}}
    assert signature(schema) == 'id?: string "the order\'s number"'
