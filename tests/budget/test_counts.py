"""What a call is charged with when its endpoint counts oddly, or is gone before it has answered."""

import pytest
from langchain_core.messages import HumanMessage

from nodes.decide.budget import Used
from nodes.models import ask
from tests.endpoint.support import ask_of, session_of
from tests.support.openai_server import OpenAIServer, Reply, raw, text

SAID = "Seven words are what it has said."


async def charged(reply: Reply) -> Used:
    with OpenAIServer(reply) as server:
        session = session_of(server.model(), {"max_tokens": 100_000})
        how = ask_of(session, attempts=1)
        await ask(session.engine, how, [HumanMessage("What?")])
    return how.spent.used


async def test_what_is_told_is_charged() -> None:
    used = await charged(text(SAID, usage=usage(70, 5)))
    assert (used.input_tokens, used.output_tokens, used.estimated) == (70, 5, False)


@pytest.mark.parametrize("answer", [None, 0, -5_000])
async def test_an_answer_that_nobody_counted_is_estimated_and_marked(answer: int | None) -> None:
    used = await charged(text(SAID, usage=usage(70, answer)))
    assert used.input_tokens == 70
    assert used.output_tokens > 0
    assert used.estimated


@pytest.mark.parametrize("prompt", [-70, 7.5, 0, None])
async def test_no_count_of_a_prompt_makes_a_budget_larger(prompt: object) -> None:
    used = await charged(text(SAID, usage=usage(prompt, 5)))
    assert used.input_tokens > 0
    assert used.estimated


async def test_an_answer_that_broke_off_may_have_been_paid_for() -> None:
    used = await charged(raw('{"id": "c", "choices": [{"mess', cut=True))
    assert used.input_tokens > 0
    assert used.estimated


async def test_an_endpoint_that_nobody_reached_has_cost_nothing() -> None:
    with OpenAIServer(text(SAID)) as server:
        model = server.model()
    session = session_of(model, {"max_tokens": 100_000})
    how = ask_of(session, attempts=1)
    await ask(session.engine, how, [HumanMessage("What?")])
    assert how.spent.used == Used(model_calls=1)


def usage(prompt: object, answer: object) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": 75}
