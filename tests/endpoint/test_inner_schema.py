"""A schema inside another one means what it means alone."""

from typing import Any

from pydantic import BaseModel

from graph.plan import AgentStep
from graph.plan.json_schema import schema_fault, validator_of
from nodes.decide.agent import next_schema
from tests.executor.test_llm_step import run
from tests.support.openai_server import OpenAIServer, obj
from tools import RegisteredTool, ToolRegistry, policy

NUMBERS: dict[str, Any] = {
    "type": "array",
    "items": {"$ref": "#/$defs/default"},
    "$defs": {"default": {"type": "number"}},
}


def pack() -> RegisteredTool:
    class Item(BaseModel):
        sku: str

    @policy(effect="read")
    async def pack(item: Item) -> str:
        """Pack an item."""
        return item.sku

    return ToolRegistry.of(pack)["pack"]


def paint() -> RegisteredTool:
    class Item(BaseModel):
        colour: str

    @policy(effect="read")
    async def paint(item: Item) -> str:
        """Paint an item."""
        return item.colour

    return ToolRegistry.of(paint)["paint"]


def allows(schema: dict[str, Any], answer: dict[str, Any]) -> bool:
    return not list(validator_of(schema).iter_errors(answer))


def calling(tool: str, **item: str) -> dict[str, Any]:
    return {"next": {"tool": tool, "args": {"item": item}}}


def agent(**more: Any) -> AgentStep:
    return AgentStep(id="s1", instruction="Do it.", tools=("pack", "paint"), **more)


def test_two_tools_may_call_different_things_by_one_name() -> None:
    schema = next_schema(agent(), [pack(), paint()])

    assert allows(schema, calling("pack", sku="S1"))
    assert allows(schema, calling("paint", colour="red"))
    assert not allows(schema, calling("pack", colour="red"))


def test_an_agents_result_may_refer_to_its_own_definitions() -> None:
    step = agent(output_schema={**NUMBERS, "description": "how many"})
    for tools in ([pack(), paint()], []):
        schema = next_schema(step, tools)
        assert schema_fault(schema) is None
        wrong, right = ({"result": [each]} for each in ("one", 1))
        assert allows(schema, {"next": right} if tools else right)
        assert not allows(schema, {"next": wrong} if tools else wrong)


async def test_a_list_whose_items_are_defined_apart_is_asked_for_as_one() -> None:
    with OpenAIServer([obj({"result": [1, 2]})]) as server:
        assert await run(server, output_schema=NUMBERS) == [1, 2]

    sent = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema_fault(sent) is None
    assert allows(sent, {"result": [1]})
    assert not allows(sent, {"result": ["one"]})


async def test_one_of_some_values_is_asked_for_in_an_object() -> None:
    with OpenAIServer([obj({"result": 2})]) as server:
        assert await run(server, output_schema={"enum": [1, 2]}) == 2
