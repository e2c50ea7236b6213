"""How many requests a goal costs on the wire; a tool-calling agent needs 1 without a tool and 2 with one."""

from typing import Any

from tests.endpoint.office import Office, steps_of
from tests.support.openai_server import OpenAIServer, Reply, Scripted, obj, text


async def _cost(
    *replies: Scripted, office: Office | None = None, **settings: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with OpenAIServer(replies) as server:
        return await (office or Office()).run(server, **settings), server.requests


async def test_a_request_that_needs_no_tool_costs_one_call() -> None:
    result, requests = await _cost(obj({"reply": {"answer": "Hello!"}}))
    assert (result["status"], result["answer"]) == ("succeeded", "Hello!")
    assert len(requests) == 1


async def test_a_request_that_cannot_be_done_costs_one_call_and_gives_the_reason() -> None:
    result, requests = await _cost(obj({"cannot": "nobody can"}))
    assert (result["status"], result["reason"]) == ("failed", "nobody can")
    assert len(requests) == 1


def _lookup(*more: dict[str, Any]) -> Reply:
    step = {"id": "s1", "action": "tool", "tool": "web_search", "args": {"query": "q"}}
    return obj({"plan": {"steps": [step, *more]}})


async def test_one_lookup_costs_one_call_and_two_with_an_answer_in_words() -> None:
    result, requests = await _cost(_lookup(), word_answers=False)
    assert result["answer"] == "found q"
    assert len(requests) == 1

    result, requests = await _cost(_lookup(), text("It was found."))
    assert result["answer"] == "It was found."
    assert len(requests) == 2

    words = {"id": "s2", "action": "llm", "instruction": "Say it nicely: ${s1}"}
    result, requests = await _cost(_lookup(words), text("It was found."))
    assert steps_of(result) == ["s1:succeeded", "s2:succeeded"]
    assert result["answer"] == "It was found."
    assert len(requests) == 2


async def test_a_faulty_plan_costs_one_call_more_for_each_time_it_goes_back() -> None:
    steps = [{"id": "s1", "action": "tool", "tool": f"nothing {n}"} for n in range(4)]
    result, requests = await _cost(*(obj({"plan": {"steps": [step]}}) for step in steps))
    assert result["status"] == "failed"
    assert "unknown_tool in s1" in result["reason"]
    assert len(requests) == 3
