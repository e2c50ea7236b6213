"""What a person decided, and what a run shows while it waits."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from graph.build import build_graph
from graph.state import ApprovalError
from tools import HardToolError, OutcomeUnknown, policy

THREAD: Any = {"configurable": {"thread_id": "t"}}


def _graph(*tools: Any) -> Any:
    return build_graph(tools=tools, checkpointer=InMemorySaver(), store=InMemoryStore())


def _transfer(calls: list[Any]) -> Any:
    @policy(effect="write", idempotent=False, risk="high", max_attempts=1, grounded=frozenset())
    async def transfer(to: str, note: Any = None) -> str:
        """Move money."""
        calls.append(to)
        if len(calls) == 1:
            raise OutcomeUnknown("the line went dead")
        return f"sent to {to}"

    return transfer


PAY = {"steps": [{"id": "pay", "action": "tool", "tool": "transfer", "args": {"to": "bank"}}]}


def test_what_was_edited_is_done_again_as_edited_when_it_did_not_happen() -> None:
    calls: list[Any] = []
    graph = _graph(_transfer(calls))
    graph.invoke({"goal": "pay", "plan": PAY}, THREAD)
    doubtful = graph.invoke(Command(resume={"pay": {"decision": "edit", "args": {"to": "shop"}}}), THREAD)
    assert [item["kind"] for item in doubtful["pending"]] == ["outcome"]

    ended = graph.invoke(Command(resume={"pay": "not_happened"}), THREAD)

    assert ended["status"] == "succeeded"
    assert calls == ["shop", "shop"]


def test_an_edit_that_is_no_json_leaves_the_question_open() -> None:
    calls: list[Any] = []
    graph = _graph(_transfer(calls))
    graph.invoke({"goal": "pay", "plan": PAY}, THREAD)

    with pytest.raises(ApprovalError, match="pay"):
        graph.invoke(Command(resume={"pay": {"decision": "edit", "args": {"note": float("nan")}}}), THREAD)

    assert graph.invoke(None, THREAD)["status"] == "waiting"
    assert calls == []


def test_a_step_that_was_skipped_is_shown_so_while_another_waits() -> None:
    @policy(effect="read")
    async def look() -> str:
        """Look something up."""
        raise HardToolError("gone", "it is not there")

    plan = {
        "steps": [
            {"id": "look", "action": "tool", "tool": "look", "optional": True},
            {
                "id": "use",
                "action": "tool",
                "tool": "look",
                "depends_on": ["look"],
                "on_dependency_failure": "skip",
            },
            *PAY["steps"],
        ]
    }

    waiting = _graph(look, _transfer([])).invoke({"goal": "g", "plan": plan}, THREAD)

    assert {s["id"]: s["status"] for s in waiting["steps"]} == {
        "look": "failed",
        "use": "skipped",
        "pay": "waiting",
    }
