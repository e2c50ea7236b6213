"""What an llm step asks an endpoint for, and what it takes for an answer."""

from typing import Any

import pytest

from tests.executor.shop import Shop, by_id, error_of, given, graph, thread
from tests.support.models import says
from tests.support.openai_server import OpenAIServer, error, obj, text

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["n"],
}


def judging(**more: Any) -> Any:
    return given({"id": "judge", "action": "llm", "instruction": "How many?", **more})


async def run(server: OpenAIServer, **more: Any) -> Any:
    result = await graph(Shop(), server.model(), max_replans=0).ainvoke(judging(**more), thread())
    return by_id(result)["judge"]["output"]


async def test_a_schema_goes_along_with_the_question() -> None:
    with OpenAIServer([obj({"n": "three"}), obj({"n": 3, "note": None})]) as server:
        assert await run(server, output_schema=SCHEMA) == {"n": 3}

    sent = server.requests[0]["response_format"]["json_schema"]
    assert (sent["name"], sent["strict"]) == ("result", True)
    assert "That does not fit: $.n" in server.prompts()[1]


async def test_a_schema_of_no_object_is_wrapped() -> None:
    with OpenAIServer([obj({"result": [1, 2]})]) as server:
        assert await run(server, output_schema={"type": "array", "items": {"type": "integer"}}) == [1, 2]


@pytest.mark.parametrize("answer", [obj({"result": "yes"}), text("Yes."), obj({"result": "YES"})])
async def test_choices_are_a_schema_and_a_bare_word_is_a_choice_too(answer: Any) -> None:
    with OpenAIServer([answer]) as server:
        assert await run(server, choices=["yes", "no"]) == "yes"

    sent = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["result"] == {"enum": ["yes", "no"]}


async def test_an_endpoint_without_schemas_is_told_in_words() -> None:
    refused = error(400, "response_format json_schema is not supported")
    with OpenAIServer([refused, error(400, "tools are not supported"), obj({"n": 3})]) as server:
        assert await run(server, output_schema=SCHEMA) == {"n": 3}

    assert server.requests[2]["response_format"] == {"type": "json_object"}
    assert '"required": ["n"]' in server.prompts()[2]


async def test_text_is_asked_for_as_text() -> None:
    with OpenAIServer([text(" three ")]) as server:
        assert await run(server) == "three"

    assert "response_format" not in server.requests[0]


async def test_a_model_that_never_fits_fails_the_step() -> None:
    result = await graph(Shop(), says("three"), max_replans=0).ainvoke(
        judging(output_schema=SCHEMA), thread()
    )

    assert error_of(result, "judge") == "output_rejected: the reply holds no JSON object"
