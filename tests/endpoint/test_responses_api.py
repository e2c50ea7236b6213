"""OpenAI's other API, as LangChain's client takes it: the same answers, cuts and refusals."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from nodes.endpoint.structured import ask_structured
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import Json, OpenAIServer, Reply, raw
from tools import CallFailed

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def response(*content: Json, status: str = "completed", reason: str | None = None) -> Reply:
    message = {"id": "m1", "type": "message", "role": "assistant", "status": status, "content": list(content)}
    return raw(
        {
            "id": "r1",
            "object": "response",
            "created_at": 0,
            "model": "m",
            "status": status,
            "incomplete_details": {"reason": reason} if reason else None,
            "error": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "output": [message],
            "usage": {
                "input_tokens": 7,
                "output_tokens": 5,
                "total_tokens": 12,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }
    )


def said(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


async def _asked(*replies: Reply) -> tuple[Any, list[Json]]:
    with OpenAIServer(replies) as server:
        session = session_of(server.model(use_responses_api=True), {"redo_attempts": 1})
        answer = await ask_structured(session, ask_of(session), [HumanMessage("Who?")], SCHEMA, "person")
        return answer, server.requests


async def test_an_answer_is_read_and_the_schema_went_along() -> None:
    answer, requests = await _asked(response(said('{"name": "Ann"}')))
    assert answer == {"name": "Ann"}
    assert requests[0]["text"]["format"]["type"] == "json_schema"
    assert len(requests) == 1


async def test_an_answer_that_is_cut_off_goes_back() -> None:
    cut = response(said('{"name": "An'), status="incomplete", reason="max_output_tokens")
    answer, requests = await _asked(cut, response(said('{"name": "Ann"}')))
    assert answer == {"name": "Ann"}
    assert len(requests) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        response({"type": "refusal", "refusal": "no"}),
        response(said(""), status="incomplete", reason="content_filter"),
    ],
    ids=["refusal", "filter"],
)
async def test_a_refusal_is_final(refusal: Reply) -> None:
    answer, requests = await _asked(refusal)
    assert isinstance(answer, CallFailed)
    assert (answer.kind, answer.code) == ("hard", "refused")
    assert len(requests) == 1
