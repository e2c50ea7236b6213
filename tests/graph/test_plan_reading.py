"""A run's plan is read once, however many nodes look at it, and anew when it was changed."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from graph import build_graph
from graph.plan import Plan
from tests.graph.office import Office

STEPS = [
    {"id": "find", "action": "tool", "tool": "find", "args": {"order": "A-1"}},
    {"id": "note", "action": "tool", "tool": "log", "args": {"text": "${find.order}"}},
]


INPUT: Any = {"goal": "g", "plan": {"steps": STEPS}}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    plans: list[Any] = []
    original = Plan.from_json.__func__  # type: ignore[attr-defined]

    def from_json(cls: type[Plan], data: Any) -> Plan:
        plans.append(data)
        plan: Plan = original(cls, data)
        return plan

    monkeypatch.setattr(Plan, "from_json", classmethod(from_json))
    return plans


async def test_a_run_reads_its_plan_once(read: list[Any]) -> None:
    graph = build_graph(tools=Office().tools(), checkpointer=InMemorySaver(), store=InMemoryStore())
    config: RunnableConfig = {"configurable": {"thread_id": "r"}}

    document = await graph.ainvoke(INPUT, config)

    assert document["status"] == "succeeded"
    assert len(read) == 1


async def test_a_plan_that_was_edited_meanwhile_is_read_anew() -> None:
    office = Office()
    graph = build_graph(
        tools=office.tools(),
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
        interrupt_before=["scheduler"],
    )
    config: RunnableConfig = {"configurable": {"thread_id": "r"}}
    await graph.ainvoke(INPUT, config)
    plan = (await graph.aget_state(config)).values["plan"]
    edited = [
        {**step, "args": {"text": "edited"}} if step["id"] == "note" else step for step in plan["steps"]
    ]
    await graph.aupdate_state(config, {"plan": {**plan, "steps": edited}}, as_node="planner")

    while (await graph.aget_state(config)).next:
        await graph.ainvoke(None, config)

    assert office.logged == ["edited"]


async def test_a_run_writes_its_plan_once_beside_reading_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Plan] = []
    original = Plan.to_json

    def to_json(plan: Plan) -> dict[str, Any]:
        written.append(plan)
        return original(plan)

    monkeypatch.setattr(Plan, "to_json", to_json)
    graph = build_graph(tools=Office().tools(), checkpointer=InMemorySaver(), store=InMemoryStore())

    document = await graph.ainvoke(INPUT, {"configurable": {"thread_id": "r"}})

    assert document["plan"] == original(written[-1])
    assert len(written) == 2
