"""What a model says becomes a result only as JSON that every store can hold and every prompt can repeat."""

import json
from typing import Any

import pytest

from tests.executor.shop import Shop, by_id, error_of, given, graph, thread
from tests.support.models import says
from tests.support.openai_server import OpenAIServer, Reply, call, calls, obj, text

ANY_OBJECT = {"type": "object", "properties": {"n": {}}}
HALF = "\ud800"
AFTER = {"action": "llm", "instruction": "Repeat ${s1}."}


async def run(server: OpenAIServer, step: dict[str, Any]) -> Any:
    plan = given({"id": "s1", "instruction": "Say so.", **step}, {"id": "s2", **AFTER})
    return await graph(Shop(), server.model(), max_replans=0).ainvoke(plan, thread())


def as_it_comes(content: str) -> Reply:
    """A reply whose text has that character itself, as a server gives it that cuts texts anywhere."""
    return text(content)


@pytest.mark.parametrize("odd", [HALF, "\x00"])
async def test_text_is_kept_without_what_no_store_can_hold(odd: str) -> None:
    with OpenAIServer([as_it_comes(f"half {odd} a word"), text("done")]) as server:
        result = await run(server, {"action": "llm"})

    assert by_id(result)["s1"]["output"] == "half \ufffd a word"
    assert result["status"] == "succeeded"


@pytest.mark.parametrize("said", ['{"n": 1e999}', '{"n": "\\ud800"}', '{"n": "\\u0000"}'])
async def test_an_object_that_is_no_json_goes_back_with_the_reason(said: str) -> None:
    with OpenAIServer([text(said), obj({"n": 1}), text("done")]) as server:
        result = await run(server, {"action": "llm", "output_schema": ANY_OBJECT})

    assert by_id(result)["s1"]["output"] == {"n": 1}
    assert "That does not fit: n: " in server.prompts()[1]
    json.dumps(result["steps"], allow_nan=False).encode()


async def test_a_reply_that_goes_back_is_sent_without_what_no_request_can_hold() -> None:
    with OpenAIServer([as_it_comes(f"no object, {HALF}"), obj({"n": 1}), text("done")]) as server:
        result = await run(server, {"action": "llm", "output_schema": ANY_OBJECT})

    assert by_id(result)["s1"]["output"] == {"n": 1}
    assert "no object, \ufffd" in server.prompts()[1]


async def test_an_agents_call_with_such_a_value_is_not_made() -> None:
    odd = calls(call("look", '{"order": "\\ud800"}'))
    with OpenAIServer([odd, calls(call("look", {"order": "A1"})), text("done")]) as server:
        shop = Shop()
        step = {"id": "s1", "action": "agent", "instruction": "Look A1 up.", "tools": ["look"]}
        result = await graph(shop, server.model(), max_replans=0).ainvoke(given(step), thread())

    assert result["status"] == "succeeded"
    assert shop.did("look") == [{"order": "A1"}]


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$dynamicRef": "#nowhere"}])
async def test_a_schema_without_an_end_fails_its_step_and_no_more(schema: dict[str, Any]) -> None:
    step = {"id": "s1", "action": "llm", "instruction": "Say so.", "output_schema": schema}
    result = await graph(Shop(), says({"n": 1}), max_replans=0).ainvoke(given(step), thread())

    assert "has no end" in error_of(result, "s1")
