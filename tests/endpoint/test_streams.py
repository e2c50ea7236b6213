"""Replies that come in chunks: whole ones are read as any other, cut ones are tried again."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from nodes.endpoint.structured import ask_structured
from nodes.models import ask
from tests.endpoint.office import Office
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, call, calls, error, obj, text
from tests.support.plans import P0
from tools import CallFailed

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ANN = {"name": "Ann"}
GOOD = {
    "json_schema": obj(ANN),
    "function_calling": calls(call("person", ANN)),
    "json_mode": obj(ANN),
    "prompt": obj(ANN),
}


def _cut(reply: Reply) -> Reply:
    return Reply(reply.body, stream=reply.stream, cut=True)


async def _asked(server: OpenAIServer, method: str, **settings: Any) -> Any:
    session = session_of(server.model(streaming=True), {"structured_method": method, **settings})
    return await ask_structured(session, ask_of(session), [HumanMessage("Who?")], SCHEMA, "person")


@pytest.mark.parametrize("method", GOOD)
async def test_a_streamed_answer_is_read_like_a_whole_one(method: str) -> None:
    with OpenAIServer(GOOD[method]) as server:
        assert await _asked(server, method) == ANN
    assert server.requests[0]["stream"] is True
    assert len(server.requests) == 1


@pytest.mark.parametrize("method", GOOD)
async def test_a_stream_that_is_cut_is_tried_again_and_never_taken_for_the_answer(method: str) -> None:
    with OpenAIServer([_cut(GOOD[method]), GOOD[method]]) as server:
        assert await _asked(server, method) == ANN
    assert len(server.requests) == 2

    with OpenAIServer(_cut(GOOD[method])) as server:
        answer = await _asked(server, method, llm_attempts=2, redo_attempts=1)
    assert isinstance(answer, CallFailed)
    assert "end" in answer.message
    assert len(server.requests) == 2


async def test_a_text_that_is_cut_is_not_half_an_answer() -> None:
    with OpenAIServer(_cut(text("Pay 100 euros, but only if she agrees."))) as server:
        session = session_of(server.model(streaming=True), {"llm_attempts": 1})
        answer = await ask(session.engine, ask_of(session), [HumanMessage("What?")])
    assert isinstance(answer, CallFailed)
    assert "before the answer's end" in answer.message


async def test_an_error_in_a_stream_is_tried_again() -> None:
    broken = Reply(b"", stream=({"error": {"message": "overloaded", "code": 503}},))
    with OpenAIServer([broken, GOOD["prompt"]]) as server:
        assert await _asked(server, "prompt") == ANN
    assert len(server.requests) == 2


async def test_an_endpoint_that_takes_no_stream_options_is_asked_without() -> None:
    def answer(body: dict[str, Any]) -> Reply:
        if "stream_options" in body:
            return error(400, "Unknown parameter: stream_options", param="stream_options")
        return GOOD["prompt"]

    with OpenAIServer(answer) as server:
        session = session_of(server.model(streaming=True, stream_usage=True), {"structured_method": "prompt"})
        how = ask_of(session)
        assert await ask_structured(session, how, [HumanMessage("Who?")], SCHEMA, "person") == ANN
    assert ["stream_options" in body for body in server.requests] == [True, False]


async def test_a_caller_that_listens_to_messages_gets_the_same_plan() -> None:
    office = Office()
    with OpenAIServer(obj(P0)) as server:
        chunks = [
            c async for c in office.graph(server).astream({"goal": "g"}, stream_mode=["messages", "values"])
        ]
    last = [chunk for mode, chunk in chunks if mode == "values"][-1]
    assert [step["id"] for step in last["steps"]] == ["s1", "s2"]
    assert any(mode == "messages" for mode, _chunk in chunks)
    assert len(server.requests) == 1
