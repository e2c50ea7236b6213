"""What an agent writes: approved first, made once, and decided by a person when in doubt."""

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from graph.build import build_graph
from tests.executor.agents import DONE, LOOK, PAY, agent, inputs
from tests.executor.shop import Shop, given, graph, plan, step, thread
from tests.support.models import ScriptedModel, says
from tools import IdempotencyKey, OutcomeUnknown, ToolRegistry, policy


async def test_an_agent_with_writes_is_approved_as_a_whole_first(shop: Shop) -> None:
    built = graph(shop, says(LOOK, PAY, DONE))

    waiting = await built.ainvoke(inputs("look", "pay"), thread())
    assert shop.calls == []
    assert waiting["pending"][0]["reason"] == "it may use tools that write: pay"
    assert waiting["pending"][0]["args"] == {"instruction": "refund it", "tools": ["look", "pay"]}

    result = await built.ainvoke(Command(resume="approve"), thread())
    assert result["status"] == "succeeded"
    assert len(shop.did("pay")) == 1
    assert [(row["step"], row["tool"]) for row in result["effects"]] == [("work", "pay")]


async def test_the_plans_premises_are_checked_before_an_agent_that_may_write(shop: Shop) -> None:
    worker, doubter = says(DONE), says({"reason": "it was paid", "valid": False, "broken_assumption": "due"})
    models = {"executor": worker, "validator": doubter}

    result = await graph(shop, models, approve_at="never", max_replans=0).ainvoke(
        given(step("look", "look", {"order": "A1"}), agent("pay", depends_on=["look"])), thread()
    )

    assert (worker.prompts, len(doubter.prompts)) == ([], 1)
    assert "due" in result["reason"]


async def test_the_same_write_is_made_once_and_a_made_up_one_never(shop: Shop) -> None:
    invented = {"tool": "pay", "args": {"to": "eve@x.com", "amount": 40}}
    model = says(LOOK, PAY, PAY, invented, {**PAY, "args": {"to": "ann@x.com", "amount": 41}}, DONE)

    result = await graph(shop, model, approve_at="never").ainvoke(inputs("look", "pay"), thread())

    assert result["status"] == "succeeded"
    assert [(paid["to"], paid["amount"]) for paid in shop.did("pay")] == [("ann@x.com", 40)]
    assert "already done" in model.prompts[3]
    assert "'eve@x.com' as to is neither" in model.prompts[4]
    assert "41 as amount is neither" in model.prompts[5]


async def test_what_an_agent_wrote_is_done_when_its_step_is_replaced(shop: Shop) -> None:
    again = plan(step("again", "pay", {"to": "ann@x.com", "amount": 40}), goal="pay 40 to ann@x.com")
    replanned = plan(step("other", "read", {"page": "p"}))
    model = says(PAY, {"result": 3}, {"result": 3}, {"result": 3}, again, replanned)
    working = agent("pay", choices=["yes"])

    result = await graph(shop, model, approve_at="never").ainvoke(
        given(working, goal="pay 40 to ann@x.com"), thread()
    )

    assert result["replans"] == 1
    assert len(shop.did("pay")) == 1
    assert "repeats_completed_effect" in model.prompts[5]
    assert [(row["tool"], row["status"]) for row in result["effects"]] == [("pay", "succeeded")]


async def test_calls_that_ended_before_a_crash_are_read_back(shop: Shop) -> None:
    store, saver = InMemoryStore(), InMemorySaver()
    asked, released = threading.Event(), threading.Event()

    def hang(_prompt: str) -> Any:
        asked.set()
        released.wait(10)
        return DONE

    def built(model: ScriptedModel) -> Any:
        return build_graph(tools=shop.tools(), models=model, checkpointer=saver, store=store)

    first = asyncio.create_task(built(says(LOOK, hang)).ainvoke(inputs("look", "read"), thread()))
    await asyncio.to_thread(asked.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    released.set()
    model = says(DONE)
    result = await built(model).ainvoke(None, thread())

    assert result["status"] == "succeeded"
    assert len(shop.did("look")) == 1
    assert "ann@x.com" in model.prompts[0]
    assert result["usage"]["tool_calls"] == 1


async def test_a_tools_own_question_pauses_the_agent_and_is_answered() -> None:
    asked: list[str] = []

    @policy(effect="read")
    async def ask(what: str) -> str:
        """Ask a person."""
        asked.append(what)
        return str(interrupt({"what": what}))

    model = says({"tool": "ask", "args": {"what": "colour"}}, {"result": "done"})
    built = build_graph(
        tools=ToolRegistry.of(ask), models=model, checkpointer=InMemorySaver(), store=InMemoryStore()
    )

    waiting = await built.ainvoke(inputs("ask"), thread())
    assert waiting["pending"][0]["step"] == "work"
    result = await built.ainvoke(Command(resume="red"), thread())

    assert result["status"] == "succeeded"
    assert len(model.prompts) == 2
    assert "red" in model.prompts[1]


@pytest.mark.parametrize("approve_at", ["never", "high"])
@pytest.mark.parametrize(("answer", "times"), [("happened", 1), ("not_happened", 2)])
async def test_a_write_in_doubt_is_decided_by_a_person_and_the_agent_goes_on(
    answer: str, times: int, approve_at: str
) -> None:
    made: list[str] = []

    @policy(effect="write")
    async def send(text: str) -> str:
        """Send a text."""
        made.append(text)
        if len(made) == 1:
            raise OutcomeUnknown("the line went dead")
        return "sent"

    model = says({"tool": "send", "args": {"text": "hello"}}, {"result": "done"})
    built = build_graph(
        tools=ToolRegistry.of(send),
        models=model,
        settings={"approve_at": approve_at},
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )

    waiting = await built.ainvoke(inputs("send"), thread())
    if approve_at == "high":
        waiting = await built.ainvoke(Command(resume="approve"), thread())
    assert waiting["pending"][0]["kind"] == "outcome"
    assert waiting["pending"][0]["args"]["call"] == {"tool": "send", "args": {"text": "hello"}}
    result = await built.ainvoke(Command(resume={"decision": answer, "result": "sent"}), thread())

    assert (result["status"], len(made)) == ("succeeded", times)
    assert len(model.prompts) == 2
    assert "sent" in model.prompts[1]


@pytest.mark.parametrize(("idempotent", "status"), [(True, "succeeded"), (False, "waiting")])
async def test_a_write_that_a_crash_cut_off_is_repeated_only_with_its_key(
    idempotent: bool, status: str
) -> None:
    keys: list[str] = []
    begun, never = asyncio.Event(), asyncio.Event()

    @policy(effect="write", idempotent=idempotent)
    async def send(text: str, key: Annotated[str, IdempotencyKey]) -> str:
        """Send a text."""
        keys.append(key)
        if len(keys) == 1:
            begun.set()
            await never.wait()
        return "sent"

    store, saver = InMemoryStore(), InMemorySaver()

    def built(model: ScriptedModel) -> Any:
        return build_graph(
            tools=ToolRegistry.of(send),
            models=model,
            settings={"approve_at": "never"},
            checkpointer=saver,
            store=store,
        )

    sending = {"tool": "send", "args": {"text": "hello"}}
    first = asyncio.create_task(built(says(sending)).ainvoke(inputs("send"), thread()))
    await asyncio.wait_for(begun.wait(), 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    model = says({"result": "done"})
    result = await built(model).ainvoke(None, thread())

    assert result["status"] == status
    assert len(keys) == (2 if idempotent else 1)
    assert len(set(keys)) == 1
    assert len(model.prompts) == (1 if idempotent else 0)
