"""Settings of one run, given as LangGraph's context."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from graph.build import build_graph
from graph.state import RunContext, SettingsError
from tools import policy

PLAN = {
    "steps": [
        {"id": "a", "action": "tool", "tool": "mail", "args": {"n": 1}},
        {
            "id": "b",
            "action": "tool",
            "tool": "mail",
            "args": {"n": 2},
            "depends_on": ["a"],
            "risk": "medium",
        },
    ]
}
GIVEN = {"goal": "g", "plan": PLAN}
THREAD: Any = {"configurable": {"thread_id": "t"}}


def _graph(calls: list[int]) -> Any:
    @policy(effect="write", idempotent=True, risk="low")
    async def mail(n: int) -> str:
        """Send a mail."""
        calls.append(n)
        return "sent"

    return build_graph(tools=[mail], checkpointer=InMemorySaver(), store=InMemoryStore())


def test_a_run_has_settings_of_its_own() -> None:
    calls: list[int] = []
    graph = _graph(calls)

    asked = graph.invoke(GIVEN, THREAD, context={"approve_at": "medium"})
    other = graph.invoke(GIVEN, {"configurable": {"thread_id": "u"}})

    assert [item["step"] for item in asked["pending"]] == ["b"]
    assert other["status"] == "succeeded"


def test_a_resume_keeps_the_settings_the_run_began_with() -> None:
    calls: list[int] = []
    graph = _graph(calls)
    graph.invoke(GIVEN, THREAD, context={"approve_at": "low"})

    asked = graph.invoke(Command(resume={"a": "approve"}), THREAD)

    assert [item["step"] for item in asked["pending"]] == ["b"]
    assert calls == [1]


def test_a_resume_may_give_others() -> None:
    graph = _graph([])
    graph.invoke(GIVEN, THREAD, context=RunContext(approve_at="low"))

    ended = graph.invoke(Command(resume={"a": "approve"}), THREAD, context={"approve_at": "high"})

    assert ended["status"] == "succeeded"


@pytest.mark.parametrize(
    "context", [{"aprove_at": "low"}, {"approve_at": "sometimes"}, {"templates": "x"}, "approve_at=low"]
)
def test_a_context_that_is_none_is_refused_before_anything_runs(context: Any) -> None:
    calls: list[int] = []

    with pytest.raises(SettingsError):
        _graph(calls).invoke(GIVEN, THREAD, context=context)

    assert calls == []


def test_the_form_names_every_setting_and_requires_none() -> None:
    schema = _graph([]).get_context_jsonschema()

    assert "approve_at" in schema["properties"]
    assert not schema.get("required")
