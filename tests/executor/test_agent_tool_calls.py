"""An agent on an endpoint: by tool calls where they work, by objects where they do not."""

from typing import Any

import pytest

from tests.executor.agents import DONE, LOOK, inputs
from tests.executor.shop import Shop, by_id, graph, statuses, thread
from tests.support.openai_server import OpenAIServer, call, calls, error, obj, text


async def on_server(shop: Shop, server: OpenAIServer, **settings: Any) -> Any:
    return await graph(shop, server.model(), **settings).ainvoke(inputs("look", "read"), thread())


async def test_tool_calling_is_used_where_it_works(shop: Shop) -> None:
    both = calls(call("look", {"order": "A1"}), call("read", {"page": "p"}, id="call_2"))
    with OpenAIServer([both, text("Ann gets 40")]) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert [tool for tool, _ in shop.calls] == ["look", "read"]
    assert [each["function"]["name"] for each in server.requests[0]["tools"]] == ["look", "read"]
    assert [message["role"] for message in server.requests[1]["messages"]][2:] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


WRITTEN_CALL = text('```json\n{"name": "look", "arguments": {"order": "A1"}}\n```')


@pytest.mark.parametrize("first", [error(400, "tools is not supported by this model"), WRITTEN_CALL])
async def test_an_endpoint_without_tool_calling_is_asked_for_objects_from_then_on(
    shop: Shop, first: Any
) -> None:
    lines = [first, obj({"next": LOOK}), obj({"next": {"result": "Ann gets 40"}})]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert len(server.requests) == 3
    assert all("tools" not in body for body in server.requests[1:])
    assert server.requests[1]["response_format"]["type"] == "json_schema"
    assert server.requests[1]["response_format"]["json_schema"]["strict"] is True


async def test_a_call_written_as_text_after_true_calls_is_no_result_either(shop: Shop) -> None:
    read = obj({"next": {"tool": "read", "args": {"page": "p"}}})
    true_call = calls(call("look", {"order": "A1"}))
    with OpenAIServer([true_call, WRITTEN_CALL, read, obj({"next": {"result": "Ann gets 40"}})]) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert [tool for tool, _ in shop.calls] == ["look", "read"]
    assert "tools" not in server.requests[-1]


async def test_a_call_written_as_text_goes_back_where_there_is_no_other_way(shop: Shop) -> None:
    lines = [calls(call("look", {"order": "A1"})), WRITTEN_CALL, text("Ann gets 40")]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server, agent_method="tools")

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert "no result" in server.requests[-1]["messages"][-1]["content"]


async def test_a_call_written_as_text_when_none_are_left_has_the_result_asked_for_in_its_shape(
    shop: Shop,
) -> None:
    again = obj({"tool": "look", "args": {"order": "A1"}})
    lines = [calls(call("look", {"order": "A1"})), WRITTEN_CALL, again, obj({"result": "Ann gets 40"})]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server, max_agent_iterations=1)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert len(shop.calls) == 1
    shape = server.requests[2]["response_format"]["json_schema"]["schema"]
    assert list(shape["properties"]) == ["result"]
    assert "no more tool calls" in server.requests[-1]["messages"][-1]["content"]


async def test_a_refusal_that_has_nothing_to_do_with_tools_is_final(shop: Shop) -> None:
    with OpenAIServer([error(401, "no such key")]) as server:
        result = await on_server(shop, server, max_replans=0)

    assert statuses(result)["work"] == "failed"
    assert len(server.requests) == 1


async def test_the_method_can_be_fixed(shop: Shop) -> None:
    with OpenAIServer([obj({"next": DONE})]) as server:
        await on_server(shop, server, agent_method="structured")

    assert "tools" not in server.requests[0]
