"""A goal in words through an endpoint with quirks: one right outcome for each."""

import json
from typing import Any

import pytest

from tests.endpoint.office import Office, steps_of
from tests.support.openai_server import (
    OpenAIServer,
    Reply,
    Scripted,
    call,
    calls,
    error,
    message,
    obj,
    raw,
    text,
)
from tests.support.plans import P0

TEXT = json.dumps(P0)
WRONG = json.dumps({"goal": "DRAFT", "steps": []})
ASKED_FOR_APPROVAL = ["s1:succeeded", "s2:waiting"]


async def _planned(*replies: Scripted, **settings: Any) -> tuple[dict[str, Any], OpenAIServer]:
    with OpenAIServer(replies) as server:
        return await Office().run(server, **settings), server


GOOD_AT_ONCE: dict[str, Reply] = {
    "a bare plan": text(TEXT),
    "a plan under its key": obj({"plan": P0}),
    "a plan in a reply": obj({"reply": {"plan": P0}}),
    "the other kinds as null": obj({"plan": P0, "answer": None, "cannot": ""}),
    "a draft while thinking": text(
        f"<think>draft: ```json {WRONG}``` not good</think>\n```json\n{TEXT}\n```"
    ),
    "thinking without a beginning": text(f"first {WRONG}, no.</think>{TEXT}"),
    "a fence with prose": text(f"Here is the plan.\n```json\n{TEXT}\n```\nGood luck!"),
    "a list of content blocks": message([{"type": "text", "text": TEXT}]),
    "thinking in a block": message([{"type": "reasoning", "text": WRONG}, {"type": "text", "text": TEXT}]),
    "thinking in a field": message(TEXT, reasoning_content=f"draft {WRONG}"),
    "a tool call instead of content": calls(call("plan", P0)),
    "the call under another case": calls(call("Plan", P0)),
    "the same call twice": calls(call("plan", P0), call("plan", P0, id="call_2")),
    "arguments that are an object": calls(call("plan", P0, raw_arguments=True)),
    "a call written as text": text(f'<tool_call>{{"name":"Plan","arguments":{TEXT}}}</tool_call>'),
    "a call of the bare arguments as text": obj({"name": "plan", "parameters": P0}),
    "no usage": text(TEXT, usage=None),
    "a trailing comma": text(TEXT[:-1] + ",}"),
}


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("name", GOOD_AT_ONCE)
async def test_a_reply_that_holds_the_plan_is_the_plan_after_one_call(name: str) -> None:
    result, server = await _planned(GOOD_AT_ONCE[name])
    assert steps_of(result) == ASKED_FOR_APPROVAL, result["reason"]
    assert result["plan"]["goal"] == "g"
    assert "repairs" not in result["plan"]
    assert len(server.requests) == 1


ASKED_AGAIN: dict[str, tuple[Reply, str]] = {
    "prose": (text("I shall search and then write."), "holds no JSON object"),
    "thinking without an end": (text(f"<think>hm {WRONG} and so on"), "empty"),
    "two plans": (calls(call("plan", P0), call("plan", {**P0, "goal": "g2"}, id="2")), "2 different calls"),
    "no arguments": (calls(call("plan", None, raw_arguments=True)), "exactly one of"),
    "a list as arguments": (calls(call("plan", [])), "exactly one of"),
    "a call of a tool": (calls(call("web_search", {"query": "q"})), "there is no function 'web_search'"),
    "two meanings": (obj({"plan": P0, "answer": "It is done."}), "exactly one of"),
    "nothing": (obj({"answer": ""}), "exactly one of"),
    "empty text": (text(""), "empty"),
    "a plan that cannot run": (
        obj({"plan": {"steps": [{**P0["steps"][0], "tool": "find"}]}}),
        "unknown_tool in s1",
    ),
    "cut off by the token limit": (text(TEXT[:-40], finish="length"), "cut off"),
    "cut off without a word": (text(TEXT[:-40]), "ends before it is complete"),
    "whole but marked as cut off": (text(TEXT, finish="length"), "cut off"),
    "a call that is cut off": (calls(call("plan", TEXT[:-40])), "ends before it is complete"),
}


@pytest.mark.parametrize("name", ASKED_AGAIN)
async def test_a_reply_that_holds_no_certain_plan_goes_back_with_the_reason(name: str) -> None:
    reply, reason = ASKED_AGAIN[name]
    result, server = await _planned(reply, text(TEXT))
    assert steps_of(result) == ASKED_FOR_APPROVAL, result["reason"]
    assert len(server.requests) == 2
    assert reason in server.requests[1]["messages"][-1]["content"]


async def test_of_a_reply_that_ran_into_the_token_limit_only_the_beginning_goes_back() -> None:
    endless = '{"steps": [' + '{"id": "s"},' * 500
    _result, server = await _planned(text(endless, finish="length"), text(TEXT))
    shown = server.requests[1]["messages"][-2]
    assert shown["role"] == "assistant"
    assert endless.startswith(shown["content"])
    assert 0 < len(shown["content"]) <= 400


TRIED_AGAIN: dict[str, tuple[Reply, str]] = {
    "no choices": (raw({"id": "c", "choices": [], "prompt_filter_results": []}), "empty or invalid response"),
    "null for choices": (raw({"id": "c", "choices": None}), "empty or invalid response"),
    "an error with status 200": (raw({"error": {"message": "overloaded", "code": 503}}), "overloaded"),
    "HTML with status 200": (raw("<html>Bad gateway</html>"), "empty or invalid response"),
    "HTML as HTML": (raw("<html>Bad gateway</html>", content_type="text/html"), "Bad gateway"),
    "half a body": (raw('{"id": "c", "cho'), "empty or invalid response"),
    "a message without a message": (raw({"id": "c", "choices": [{"index": 0}]}), "empty or invalid response"),
    "a cut connection": (Reply(b'{"id": "c"', cut=True), "Connection"),
    "too many requests": (error(429, "slow down", headers={"Retry-After": "0"}), "slow down"),
    "a fault of the server": (error(503, "overloaded"), "overloaded"),
}


@pytest.mark.parametrize("method", ["json_schema", "prompt"])
@pytest.mark.parametrize("name", TRIED_AGAIN)
async def test_a_reply_that_is_none_is_tried_again_and_named_when_it_stays(name: str, method: str) -> None:
    reply, words = TRIED_AGAIN[name]
    result, server = await _planned(reply, text(TEXT), structured_method=method)
    assert steps_of(result) == ASKED_FOR_APPROVAL, result["reason"]
    assert len(server.requests) == 2

    result, server = await _planned(reply, structured_method=method, llm_attempts=2)
    assert result["status"] == "failed"
    assert words in result["reason"]
    assert len(server.requests) == 2


FINAL: dict[str, tuple[Reply, str]] = {
    "a content filter": (message("", finish="content_filter"), "refused: blocked"),
    "a refusal": (message(None, refusal="no"), "refused: the model refused: no"),
    "a filter's 400": (error(400, "The response was filtered", code="content_filter"), "refused: blocked"),
    "a wrong key": (error(401, "Incorrect API key provided: sk-loopback-secret"), "http_401"),
    "no such model": (error(404, "The model `m` does not exist"), "http_404"),
    "a prompt that is too long": (
        error(400, "The maximum context length is 10; lower max_tokens", code="context_length_exceeded"),
        "context_overflow",
    ),
    "an error for good with status 200": (
        raw({"error": {"message": "no such model", "code": 404}}),
        "no such model",
    ),
}


@pytest.mark.parametrize("name", FINAL)
async def test_what_asking_again_cannot_change_ends_the_run_after_one_call(name: str) -> None:
    reply, words = FINAL[name]
    result, server = await _planned(reply)
    assert result["status"] == "failed"
    assert words in result["reason"]
    assert "sk-loopback" not in json.dumps(result)
    assert len(server.requests) == 1
    assert result["replans"] == 0


async def test_a_polite_refusal_is_asked_about_so_often_and_no_more() -> None:
    result, server = await _planned(text("I'm sorry, I can't help with that."), plan_repairs=2)
    assert result["status"] == "failed"
    assert "gave no plan that can run" in result["reason"]
    assert len(server.requests) == 3


async def test_a_long_retry_after_is_not_waited_for() -> None:
    result, server = await _planned(error(429, "tomorrow", headers={"Retry-After": "86400"}))
    assert "tomorrow" in result["reason"]
    assert len(server.requests) == 1


async def test_unknown_usage_stays_unknown_or_is_marked() -> None:
    nothing = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
    for usage in (None, nothing):
        result, _server = await _planned(obj({"answer": "hello"}, usage=usage))
        assert result["status"] == "succeeded"
        assert result["usage"]["model_calls"] == 1
        assert result["usage"]["input_tokens"] is None or result["usage"]["estimated"] is True


REJECTED: dict[str, tuple[str, Reply]] = {
    "temperature": (
        "temperature",
        error(
            400, "Unsupported value: 'temperature' does not support 0.1 with this model.", param="temperature"
        ),
    ),
    "seed in FastAPI's words": (
        "seed",
        raw({"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, 422),
    ),
    "seed in words alone": ("seed", error(400, "Unrecognized request argument supplied: seed")),
    "max_completion_tokens": (
        "max_completion_tokens",
        error(
            400, "Unknown parameter: 'max_completion_tokens'. Use max_tokens.", param="max_completion_tokens"
        ),
    ),
}


@pytest.mark.parametrize("name", REJECTED)
async def test_a_parameter_that_a_server_rejects_is_left_out_once_and_for_all(name: str) -> None:
    parameter, refusal = REJECTED[name]

    def answer(body: dict[str, Any]) -> Reply:
        return refusal if parameter in body else text(TEXT)

    with OpenAIServer(answer) as server:
        model = server.model(temperature=0.1, seed=7, max_tokens=500)
        graph = Office().graph(server)
        graph.engine.models["default"] = model  # type: ignore[index]  # the mapping is a dict
        for _ in range(2):
            result = await graph.ainvoke({"goal": "g"})
            assert steps_of(result) == ASKED_FOR_APPROVAL, result["reason"]
    assert [parameter in body for body in server.requests] == [True, False, False]
    assert all(("max_tokens" in body) or ("max_completion_tokens" in body) for body in server.requests)
