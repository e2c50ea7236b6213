"""Bodies over which the client library itself stumbles are an endpoint's fault, to be tried again."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from nodes.endpoint.structured import ask_structured
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, obj, raw

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
DELTA = {"role": "assistant", "content": '{"name": "Ann"}'}
CHUNK: dict[str, Any] = {
    "id": "c",
    "object": "length",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "delta": DELTA, "finish_reason": None}],
}


@pytest.mark.parametrize(
    "bad", [raw("[" * 100_000), raw("9" * 5_000), Reply(b"", stream=(CHUNK, {"message": "x"}))]
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_the_next_answer_is_used(bad: Reply, *, streaming: bool) -> None:
    with OpenAIServer([bad, obj({"name": "Ann"})]) as server:
        session = session_of(server.model(streaming=streaming), {"structured_method": "json_schema"})
        found = await ask_structured(session, ask_of(session), [HumanMessage("Who?")], SCHEMA, "person")
    assert found == {"name": "Ann"}
