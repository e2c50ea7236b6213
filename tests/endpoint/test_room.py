"""An endpoint that finds the cap on an answer's tokens too large is asked with the one that it names."""

from typing import Any

import pytest

from graph.build import build_graph
from nodes.endpoint.room import Room, told_room
from tests.support.openai_server import OpenAIServer, Reply, error, obj
from tools import ToolRegistry, policy

Json = dict[str, Any]
FIXED = "max_tokens is too large: 4096. This model supports at most 1024 completion tokens."
BESIDE_PROMPT = (
    "This model's maximum context length is 4097 tokens, however you requested 5000 tokens (904 in your "
    "prompt; 4096 for the completion). Please reduce your prompt; or completion length."
)
PLAN = obj({"plan": {"steps": [{"id": "s1", "action": "tool", "tool": "find", "args": {"what": "x"}}]}})


@pytest.mark.parametrize(
    ("complaint", "room"),
    [
        (FIXED, Room(1024, lasting=True)),
        ("max_completion_tokens must be less than or equal to 2048, got 4096", Room(2048, lasting=True)),
        ("This model's maximum output length is 512 tokens.", Room(512, lasting=True)),
        ("max_tokens: 4096 > 1024, which is the maximum allowed number of output tokens for m-3.5-2024",
         Room(1024, lasting=True)),
        (BESIDE_PROMPT, Room(3193, lasting=False)),
        ("'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your "
         "request has 3096 input tokens (4096 > 4096 - 3096).", Room(1000, lasting=False)),
        ("This model's maximum context length is 4096 tokens. However, your messages have 9000.", None),
        ("This model's maximum context length is 4096 tokens and your request has 5000 input tokens", None),
        ("max_tokens is too large: supports at most 2,048 completion tokens.", Room(2048, lasting=True)),
        ("input length and `max_tokens` exceed context limit: 3500 + 4096 > 6000", Room(2500, lasting=False)),
        ("`inputs` tokens + `max_new_tokens` must be <= 4000. Given: 20 `inputs` tokens", None),
        ("max_tokens exceeds what is left of your quota this minute: at most 37 tokens", None),
        ("max_tokens is too large, at most " + "9" * 5000, None),
        ("max_tokens is too large, at most 1.5", None),
        ("context length is 1 tokens " * 50_000, None),
        ("max_tokens is too large", None),
        ("max_tokens is not supported, use max_completion_tokens", None),
        ("max_tokens must be at most 8, got 4096", None),
        ("max_tokens must be at least 5000", None),
        ("Invalid schema for response_format: at most 100 properties", None),
        ("", None),
    ],
)  # fmt: skip
def test_what_room_a_complaint_tells_of(complaint: str, room: Room | None) -> None:
    assert told_room(complaint, 4096) == room


async def run(complaint: str, most: int) -> tuple[Json, list[Any]]:
    @policy(effect="read")
    async def find(what: str) -> str:
        """Find something."""
        return what

    def reply(body: Json) -> Reply:
        cap = body.get("max_completion_tokens") or body["max_tokens"]
        return error(400, complaint.format(cap - 1), param="max_tokens") if cap > most else PLAN

    with OpenAIServer(reply) as server:
        settings = {"max_tokens": 100_000, "word_answers": False}
        built = build_graph(tools=ToolRegistry.of(find), models=server.model(), settings=settings)
        await built.ainvoke({"goal": "find x"})
        result = await built.ainvoke({"goal": "find x again"})
    return result, [body.get("max_completion_tokens") for body in server.requests]


async def test_a_limit_is_told_once_and_remembered() -> None:
    result, caps = await run(FIXED, 1024)
    assert (result["status"], caps) == ("succeeded", [4096, 1024, 1024])


async def test_room_beside_one_prompt_is_no_limit_for_the_next() -> None:
    result, caps = await run(BESIDE_PROMPT, 3193)
    assert (result["status"], caps) == ("succeeded", [4096, 3193, 4096, 3193])


async def test_an_endpoint_that_never_has_enough_room_is_given_up() -> None:
    result, caps = await run(FIXED, 10)
    assert result["status"] == "failed"
    assert len(caps) <= 12

    result, caps = await run("max_tokens is too large: at most {} tokens", 10)
    assert result["status"] == "failed"
    assert len(caps) <= 30, "one that names another limit each time is not followed for ever"
