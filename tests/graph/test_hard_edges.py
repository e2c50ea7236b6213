"""Faults that a sceptical user found: each test is one of them."""

from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import RunControl
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from checkpoints import find_run
from graph.build import build_graph
from graph.state import ApprovalError
from tools import HardToolError, policy

THREAD: Any = {"configurable": {"thread_id": "t"}}


def _step(step_id: str, tool: str, **args: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args}


def _graph(*tools: Any, **more: Any) -> Any:
    return build_graph(tools=tools, checkpointer=InMemorySaver(), store=InMemoryStore(), **more)


def _mail(calls: list[Any], **fields: Any) -> Any:
    @policy(effect="write", idempotent=False, **{"risk": "low", **fields})
    async def mail(n: int, password: str = "", options: Any = None) -> str:
        """Send a mail."""
        calls.append(n)
        return "sent"

    return mail


def test_a_write_that_is_done_is_not_done_again_from_any_older_checkpoint() -> None:
    calls: list[Any] = []
    graph = _graph(_mail(calls))
    graph.invoke({"goal": "g", "plan": {"steps": [_step("m", "mail", n=5)]}}, THREAD)

    for snapshot in list(graph.get_state_history(THREAD)):
        if snapshot.next != ("__start__",):
            graph.invoke(None, snapshot.config)

    assert calls == [5]


def test_a_write_whose_answer_says_nothing_is_in_doubt_and_told() -> None:
    @policy(effect="write", risk="low")
    def launch(n: int) -> Any:
        """Return something that JSON cannot hold."""
        return lambda: n

    waiting = _graph(launch).invoke({"goal": "g", "plan": {"steps": [_step("s", "launch", n=1)]}}, THREAD)

    assert [item["kind"] for item in waiting["pending"]] == ["outcome"]
    assert [effect["step"] for effect in waiting["effects"]] == ["s"]


def test_secret_arguments_are_in_no_document() -> None:
    graph = _graph(_mail([], risk="high", redact=frozenset({"password", "token"})))
    plan = {"steps": [_step("m", "mail", n=1, password="HUNTER2", options={"token": "TOK-9"})]}

    waiting = graph.invoke({"goal": "g", "plan": plan}, THREAD)
    ended = graph.invoke(Command(resume={"m": "approve"}), THREAD)

    assert ended["status"] == "succeeded"
    for document in (waiting, ended, graph.invoke(None, THREAD)):
        assert "HUNTER2" not in str(document)
        assert "TOK-9" not in str(document)


def test_a_call_that_failed_two_revisions_ago_is_not_repeated() -> None:
    calls: list[Any] = []

    @policy(effect="read")
    async def bad(n: int) -> str:
        """Fail."""
        calls.append(n)
        raise HardToolError("gone", "it is not there")

    replies = [
        f'{{"steps": [{{"id": "s", "action": "tool", "tool": "bad", "args": {{"n": {n}}}}}]}}' for n in (2, 1)
    ]
    graph = _graph(bad, models=FakeListChatModel(responses=[*replies, replies[1], replies[1]]))

    ended = graph.invoke({"goal": "g", "plan": {"steps": [_step("s", "bad", n=1)]}}, THREAD)

    assert ended["status"] == "failed"
    assert calls == [1, 2]


@pytest.mark.parametrize(
    "answer",
    [
        {"decision": "approve", "digest": "bad"},
        {"decision": "approve", "revision": 7},
        {"decision": "approve", "id": "ap-0"},
        {"decision": "approve", "foo": 1},
        {"decision": "edit", "args": {"n": "${m.x}"}},
    ],
)
def test_an_answer_to_something_else_is_refused(answer: Any) -> None:
    calls: list[Any] = []
    graph = _graph(_mail(calls, risk="high"))
    graph.invoke({"goal": "g", "plan": {"steps": [_step("m", "mail", n=1)]}}, THREAD)

    with pytest.raises(ApprovalError, match="m"):
        graph.invoke(Command(resume={"m": answer}), THREAD)

    assert calls == []


def test_a_question_is_answered_once_in_one_resume() -> None:
    calls: list[Any] = []
    graph = _graph(_mail(calls, risk="high"))
    waiting = graph.invoke({"goal": "g", "plan": {"steps": [_step("m", "mail", n=1)]}}, THREAD)
    both = {"m": {"decision": "reject", "reason": "no"}, waiting["pending"][0]["id"]: "approve"}

    with pytest.raises(ApprovalError, match="once"):
        graph.invoke(Command(resume=both), THREAD)

    assert calls == []


def test_a_later_run_of_a_thread_is_answered_by_its_own_id() -> None:
    calls: list[Any] = []
    graph = _graph(_mail(calls, risk="high"))
    given = {"goal": "g", "plan": {"steps": [_step("m", "mail", n=1)]}}
    graph.invoke(given, THREAD)
    graph.invoke(Command(resume={"m": "approve"}), THREAD)
    second = graph.invoke(given, THREAD)
    named: Any = {"configurable": {"thread_id": second["pending"][0]["run_id"]}}
    assert named["configurable"]["thread_id"] == "t~2"

    ended = graph.invoke(Command(resume={"m": "approve"}), named)

    assert ended["status"] == "succeeded"
    assert calls == [1, 1]
    assert graph.invoke(None, named)["status"] == "succeeded"


async def test_what_was_spent_is_written_down_when_a_run_is_drained() -> None:
    control = RunControl()

    @policy(effect="read")
    async def look(n: int) -> int:
        """Ask for a drain."""
        control.request_drain("enough")
        return n

    store = InMemoryStore()
    graph: Any = build_graph(tools=[look], checkpointer=InMemorySaver(), store=store)
    steps = [_step("a", "look", n=1), {**_step("b", "look", n=2), "depends_on": ["a"]}]

    with pytest.raises(Exception, match="enough"):
        await graph.ainvoke({"goal": "g", "plan": {"steps": steps}}, THREAD, control=control)

    run = await find_run(store, "t")
    assert run is not None
    assert run.usage["tool_calls"] == 1
