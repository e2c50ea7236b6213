"""Who an endpoint says has spoken does not matter: what comes back is the model's answer."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from nodes.endpoint.structured import ask_structured
from nodes.models import ask
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, message

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def reply_of(role: str) -> Reply:
    return message('{"name": "Ann"}', role=role)


@pytest.mark.parametrize("role", ["", "model", "bot", "user", "system"])
async def test_a_reply_of_an_odd_role_is_read(role: str) -> None:
    with OpenAIServer(reply_of(role)) as server:
        session = session_of(server.model())
        plain: Any = await ask(session.engine, ask_of(session), [HumanMessage("Who?")])
        found = await ask_structured(session, ask_of(session), [HumanMessage("Who?")], SCHEMA, "person")

    assert plain.text == '{"name": "Ann"}'
    assert found == {"name": "Ann"}
