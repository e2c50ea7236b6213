"""One structured answer, whatever the endpoint takes."""

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from nodes.endpoint.structured import ask_structured
from tests.endpoint.support import Waits, ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, Scripted, call, calls, error, obj, raw, text
from tools import CallFailed

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
ANN = {"name": "Ann"}
NO_FORMAT = error(400, "This response_format type is unavailable now", type="invalid_request_error")
NO_FORMAT_422 = raw(
    {"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}, 422
)
NO_TOOLS = error(400, '"m" does not support tools')


async def _asked(server: OpenAIServer, **settings: Any) -> Any:
    session = session_of(server.model(), settings)
    return await ask_structured(session, ask_of(session), [HumanMessage("Who?")], SCHEMA, "person")


def _way(body: dict[str, Any]) -> str:
    if body.get("tools"):
        return "function_calling"
    return str(body.get("response_format", {}).get("type", "prompt"))


async def test_the_schema_goes_along_in_the_strict_subset_and_absent_fields_come_back_absent() -> None:
    with OpenAIServer(obj({"name": "Ann", "age": None})) as server:
        assert await _asked(server) == ANN
    sent = server.requests[0]["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["name"] == "person"
    assert sent["schema"]["required"] == ["name", "age"]
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["properties"]["age"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


async def test_a_schema_that_strict_cannot_say_goes_along_as_it_is() -> None:
    free = {"type": "object", "properties": {"more": {"type": "object"}}, "required": ["more"]}
    with OpenAIServer(obj({"more": {"a": [1]}})) as server:
        session = session_of(server.model())
        answer = await ask_structured(session, ask_of(session), [HumanMessage("x")], free, "free")
    assert answer == {"more": {"a": [1]}}
    sent = server.requests[0]["response_format"]["json_schema"]
    assert (sent["strict"], sent["schema"]) == (False, free)


def _by_way(**replies: Reply) -> Scripted:
    return lambda body: replies[_way(body)]


@pytest.mark.parametrize(
    ("server_takes", "ways"),
    [
        ("json_schema", ["json_schema"]),
        ("function_calling", ["json_schema", "function_calling"]),
        ("json_object", ["json_schema", "function_calling", "json_object"]),
        ("prompt", ["json_schema", "function_calling", "json_object", "prompt"]),
    ],
)
@pytest.mark.parametrize("refusal", [NO_FORMAT, NO_FORMAT_422], ids=["400", "422"])
async def test_a_refused_way_gives_way_to_the_next_without_a_wait_and_for_good(
    server_takes: str, ways: list[str], refusal: Reply
) -> None:
    replies = {
        "json_schema": refusal,
        "json_object": refusal,
        "function_calling": NO_TOOLS,
        "prompt": NO_FORMAT,
    }
    good = calls(call("person", ANN)) if server_takes == "function_calling" else obj(ANN)
    with OpenAIServer(_by_way(**{**replies, server_takes: good})) as server:
        waits = Waits()
        session = session_of(server.model(), waits=waits)
        for _ in range(2):
            how = ask_of(session)
            assert await ask_structured(session, how, [HumanMessage("Who?")], SCHEMA, "person") == ANN
    assert [_way(body) for body in server.requests] == [*ways, ways[-1]]
    assert waits.seconds == []


async def test_an_endpoint_that_takes_no_schema_is_told_it_in_words() -> None:
    with OpenAIServer(
        _by_way(json_schema=NO_FORMAT, function_calling=NO_TOOLS, json_object=obj(ANN))
    ) as server:
        session = session_of(server.model())
        messages = [SystemMessage("You know people."), HumanMessage("Who?")]
        assert await ask_structured(session, ask_of(session), messages, SCHEMA, "person") == ANN
    first, last = server.prompts()[0], server.requests[-1]["messages"]
    assert "schema" not in first
    assert [each["role"] for each in last] == ["system", "user"]
    assert "JSON schema" in last[0]["content"]


async def test_an_endpoint_that_takes_nothing_is_one_clear_error() -> None:
    with OpenAIServer(error(400, "bad request")) as server:
        answer = await _asked(server)
    assert isinstance(answer, CallFailed)
    assert (answer.kind, answer.code) == ("hard", "method_rejected")
    assert "bad request" in answer.message
    assert "check the model's name" in answer.message
    assert len(server.requests) == 4


async def test_an_endpoint_that_never_answers_a_forced_tool_call_is_asked_without_tools() -> None:
    slow = replace(obj(ANN), delay=4.0)
    with OpenAIServer(_by_way(json_schema=NO_FORMAT, function_calling=slow, json_object=obj(ANN))) as server:
        assert await _asked(server, llm_timeout=1.5) == ANN
    assert [_way(body) for body in server.requests] == ["json_schema", "function_calling", "json_object"]


async def test_a_busy_endpoint_is_not_taken_for_one_without_tools() -> None:
    busy = error(503, "overloaded")
    replies = iter([NO_FORMAT, busy, busy, calls(call("person", ANN))])
    with OpenAIServer(lambda _body: next(replies)) as server:
        assert await _asked(server) == ANN
    assert [_way(body) for body in server.requests] == ["json_schema", *["function_calling"] * 3]

    with OpenAIServer(_by_way(json_schema=NO_FORMAT, function_calling=busy)) as server:
        answer = await _asked(server, llm_attempts=3)
    assert isinstance(answer, CallFailed)
    assert answer.code == "http_503"
    assert len(server.requests) == 1 + 3


async def test_a_way_that_was_set_is_the_only_one_tried() -> None:
    with OpenAIServer(NO_FORMAT) as server:
        answer = await _asked(server, structured_method="json_schema")
    assert isinstance(answer, CallFailed)
    assert "structured_method" in answer.message
    assert len(server.requests) == 1


async def test_an_answer_that_does_not_fit_goes_back_with_the_reason_and_the_shape() -> None:
    with OpenAIServer([text("Her name is Ann."), obj({"name": 7}), obj(ANN)]) as server:
        assert await _asked(server) == ANN
    assert "holds no JSON object" in server.prompts()[1]
    assert "JSON schema" in server.prompts()[1]
    assert "7 is not of type 'string'" in server.prompts()[2]


async def test_answers_that_never_fit_end_as_a_rejected_output() -> None:
    with OpenAIServer(text("I'm sorry, I can't help with that.")) as server:
        answer = await _asked(server, redo_attempts=1)
    assert isinstance(answer, CallFailed)
    assert (answer.kind, answer.code) == ("hard", "output_rejected")
    assert len(server.requests) == 2
