"""Agent steps: a few guarded calls of one model's choice, journaled one by one."""

from typing import Any

import pytest

from graph.plan import AgentStep, check_plan, parse_plan
from tests.executor.agents import DONE, LOOK, agent, inputs, items
from tests.executor.shop import CUSTOMER, Shop, by_id, graph, plan, statuses, thread
from tests.support.models import says


def test_an_agent_step_round_trips_and_is_checked(shop: Shop) -> None:
    read, faults = parse_plan(plan(agent("look", "pya")))
    assert read is not None, faults
    working = read.step("work")
    assert isinstance(working, AgentStep)
    assert (working.max_iterations, working.tools) == (8, ("look", "pya"))
    assert parse_plan(read.to_json())[0] == read
    assert [str(problem) for problem in check_plan(read, shop.tools())] == [
        "unknown_tool [work]: there is no tool 'pya'; did you mean pay?"
    ]


@pytest.mark.parametrize("wrong", [{"tools": []}, {"max_iterations": 0}, {"max_iterations": 51}])
def test_an_agent_needs_tools_and_an_end(wrong: dict[str, Any]) -> None:
    assert parse_plan(plan({**agent("look"), **wrong}))[0] is None


async def test_an_agent_looks_up_and_gives_its_result(shop: Shop) -> None:
    model = says(LOOK, {"result": "Ann gets 40"})
    built = graph(shop, model)

    result = await built.ainvoke(inputs("look", "read"), thread())

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert shop.calls == [("look", {"order": "A1"})]
    assert "ann@x.com" in model.prompts[1]
    (key, item), *rest = (await items(built)).items()
    assert (key, rest, item.tool, item.output) == ("work#0", [], "look", CUSTOMER)
    assert result["usage"]["model_calls"] == 2
    assert result["usage"]["tool_calls"] == 1


async def test_the_result_fits_its_schema_or_goes_back(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model = says({"result": {"n": "many"}}, {"result": {"n": 3}})

    result = await graph(shop, model).ainvoke(inputs("look", output_schema=schema), thread())

    assert by_id(result)["work"]["output"] == {"n": 3}


async def test_choices_bound_the_result(shop: Shop) -> None:
    model = says({"result": "maybe"}, {"result": "YES"})

    result = await graph(shop, model).ainvoke(inputs("look", choices=["yes", "no"]), thread())

    assert by_id(result)["work"]["output"] == "yes"


async def test_iterations_are_bounded_and_the_result_is_asked_for_at_the_end(shop: Shop) -> None:
    pages = [{"tool": "read", "args": {"page": str(at)}} for at in range(9)]
    model = says(*pages[:3], DONE)

    result = await graph(shop, model).ainvoke(inputs("read", max_iterations=3), thread("a"))
    assert by_id(result)["work"]["output"] == "refunded"
    assert "There are no more tool calls" in model.prompts[3]

    restless = await graph(shop, says(*pages), max_replans=0).ainvoke(inputs("read"), thread("b"))
    assert statuses(restless)["work"] == "failed"
    assert len(shop.did("read")) == 3 + 8


async def test_a_repeated_lookup_is_answered_from_what_is_known(shop: Shop) -> None:
    await graph(shop, says(LOOK, LOOK, DONE)).ainvoke(inputs("look"), thread())

    assert len(shop.did("look")) == 1


async def test_an_agent_that_goes_round_is_asked_for_its_result(shop: Shop) -> None:
    model = says(LOOK, {"tool": "read", "args": {"page": "p"}}, LOOK, LOOK, DONE)
    result = await graph(shop, model).ainvoke(inputs("look", "read"), thread())

    assert by_id(result)["work"]["output"] == "refunded"
    assert len(shop.did("look")) == 1
    told = ["There are no more tool calls" in prompt for prompt in model.prompts]
    assert told == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"tool": "pay", "args": {}}, "there is no tool 'pay'; the tools are look"),
        ({"tool": "look", "args": {"page": "x"}}, "there is no argument 'page'"),
        ({"tool": "look"}, "Field required"),
    ],
)
async def test_a_call_that_must_not_be_made_is_answered_with_the_reason(
    shop: Shop, wrong: dict[str, Any], words: str
) -> None:
    model = says(wrong, DONE)

    result = await graph(shop, model).ainvoke(inputs("look"), thread())

    assert result["status"] == "succeeded"
    assert shop.calls == []
    assert words in model.prompts[1]


async def test_a_failing_tool_is_not_called_again_with_the_same_arguments(shop: Shop) -> None:
    shop.fails.add("look")
    model = says(LOOK, LOOK, DONE)

    result = await graph(shop, model).ainvoke(inputs("look"), thread())

    assert len(shop.did("look")) == 1
    assert "look is out of order" in model.prompts[1]
    assert result["status"] == "succeeded"


async def test_an_agent_stops_when_the_run_may_spend_no_more(shop: Shop) -> None:
    result = await graph(shop, says(LOOK, DONE), max_model_calls=1).ainvoke(inputs("look"), thread())

    assert result["status"] != "succeeded"
    assert "max_model_calls" in result["reason"]
