"""The words in which endpoints say that a reply is not whole: none of them passes for a whole one."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from nodes.endpoint.endings import broke_off, refusal_of, was_cut
from nodes.models import ask
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import OpenAIServer, text
from tools import CallFailed


async def asked(server: OpenAIServer) -> Any:
    session = session_of(server.model())
    return await ask(session.engine, ask_of(session, attempts=2), [HumanMessage("What?")])


@pytest.mark.parametrize("ending", ["error", "network_error", "insufficient_system_resource", "abort"])
async def test_an_endpoint_that_failed_midway_is_asked_again(ending: str) -> None:
    with OpenAIServer([text("Pay 100, but", finish=ending), text("Pay 100, but not now")]) as server:
        reply = await asked(server)
    assert reply.text == "Pay 100, but not now"

    with OpenAIServer(text("Pay 100, but", finish=ending)) as server:
        reply = await asked(server)
    assert isinstance(reply, CallFailed)
    assert (reply.kind, reply.code, len(server.requests)) == ("soft", "bad_response", 2)


@pytest.mark.parametrize("ending", ["content_filter", "sensitive", "SAFETY"])
async def test_what_a_filter_let_through_is_no_answer(ending: str) -> None:
    with OpenAIServer(text("Pay 100, but", finish=ending)) as server:
        reply = await asked(server)
    assert isinstance(reply, CallFailed)
    assert (reply.kind, reply.code, len(server.requests)) == ("hard", "refused", 1)


@pytest.mark.parametrize(
    "told",
    [
        {"finish_reason": "length"},
        {"finish_reason": "model_length"},
        {"finish_reason": "MAX_TOKENS"},
        {"finish_reason": "model_context_window_exceeded"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_every_way_to_say_that_the_limit_was_reached(told: dict[str, Any]) -> None:
    assert was_cut(AIMessage("Pay 100, but", response_metadata=told))


@pytest.mark.parametrize(
    "told", [{}, {"finish_reason": "stop"}, {"stop_reason": "end_turn"}, {"finish_reason": "tool_calls"}]
)
def test_a_whole_reply_is_whole(told: dict[str, Any]) -> None:
    reply = AIMessage("Pay 100.", response_metadata=told)
    assert not was_cut(reply)
    assert not broke_off(reply)
    assert refusal_of(reply) is None
