"""What LangGraph's compiled graphs offer: configs, events, states, breakpoints, copies, forks."""

import copy
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from graph.build import build_graph
from graph.plan import PlanError
from graph.running import PlanrailGraph
from tests.graph.office import FIND_AND_PAY, Office, plan, step, thread

FIND = plan(step("find", "find", {"order": "A1"}))


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def graph(office: Office) -> PlanrailGraph:
    return build_graph(tools=office.tools(), checkpointer=InMemorySaver())


async def test_a_bound_config_names_the_thread_and_may_be_refined(
    graph: PlanrailGraph, office: Office
) -> None:
    bound = graph.with_config(thread(), tags=["invoices"])

    assert (await bound.ainvoke({"plan": FIND_AND_PAY}))["status"] == "waiting"
    assert (await bound.ainvoke(Command(resume="approve")))["status"] == "succeeded"
    assert office.paid == [40]
    assert (await bound.ainvoke({"plan": FIND}, thread("other")))["status"] == "succeeded"


async def test_events_tell_of_the_nodes_the_tools_and_the_result(graph: PlanrailGraph) -> None:
    events: list[Any] = [
        event async for event in graph.astream_events({"plan": FIND}, thread(), version="v2")
    ]

    started = {event["name"] for event in events if event["event"] == "on_chain_start"}
    assert {"planrail", "planner", "scheduler", "executor", "validator", "reporter"} <= started
    assert [event["name"] for event in events if event["event"] == "on_tool_end"] == ["find"]
    last = [event for event in events if event["event"] == "on_chain_end"][-1]
    assert last["name"] == "planrail"
    assert last["data"]["output"]["status"] == "succeeded"


async def test_states_and_their_history_can_be_read(graph: PlanrailGraph) -> None:
    await graph.ainvoke({"plan": FIND_AND_PAY}, thread())

    state = graph.get_state(thread())
    history = [each async for each in graph.aget_state_history(thread())]
    assert state.next == ("approval",)
    assert [each.value["step"] for each in state.interrupts] == ["pay"]
    assert [each.next for each in history] == [each.next for each in graph.get_state_history(thread())]
    assert history[-1].next == ("__start__",)
    assert {("planner",), ("scheduler",), ("executor",), ("validator",)} <= {each.next for each in history}


@pytest.mark.parametrize("at_build", [True, False])
async def test_a_breakpoint_stops_the_run_and_none_goes_on(office: Office, at_build: bool) -> None:
    stop = ["executor"]
    graph = build_graph(
        tools=office.tools(), checkpointer=InMemorySaver(), interrupt_before=stop if at_build else None
    )
    more: dict[str, Any] = {} if at_build else {"interrupt_before": stop}

    async def go(given: Any) -> tuple[str, tuple[str, ...]]:
        result = await graph.ainvoke(given, thread(), **more)
        return result["status"], (await graph.aget_state(thread())).next

    assert await go({"plan": FIND_AND_PAY}) == ("running", ("executor",))
    assert office.found == []
    assert await go(None) == ("waiting", ("approval",))
    assert await go(Command(resume="approve")) == ("running", ("executor",))
    assert (office.found, office.paid) == (["A1"], [])
    assert await go(None) == ("succeeded", ())
    assert (office.found, office.paid) == (["A1"], [40])


@pytest.mark.parametrize("duplicate", [copy.copy, lambda graph: graph.copy({"name": "again"})])
async def test_a_copy_goes_on_with_the_run(graph: PlanrailGraph, office: Office, duplicate: Any) -> None:
    await graph.ainvoke({"plan": FIND_AND_PAY}, thread())

    result = await duplicate(graph).ainvoke(Command(resume="approve"), thread())

    assert result["status"] == "succeeded"
    assert (office.found, office.paid) == (["A1"], [40])


async def _fork_with(graph: PlanrailGraph, **changes: Any) -> Any:
    """A state from before the payment was asked for, with the payment's step edited in its plan."""
    history = [each async for each in graph.aget_state_history(thread())]
    past = next(each for each in history if each.next == ("scheduler",))
    edited = copy.deepcopy(past.values["plan"])
    edited["steps"][1].update(changes)
    return await graph.aupdate_state(past.config, {"plan": edited})


async def test_a_plan_edited_in_a_fork_asks_anew_whatever_risk_it_claims(
    graph: PlanrailGraph, office: Office
) -> None:
    await graph.ainvoke({"plan": FIND_AND_PAY}, thread())

    fork = await _fork_with(graph, args={"amount": 7}, risk="low")
    result = await graph.ainvoke(None, fork)

    assert result["status"] == "waiting"
    assert result["pending"][0]["args"] == {"amount": 7}
    assert (office.found, office.paid) == (["A1"], [])


@pytest.mark.parametrize(
    ("changes", "code"), [({"tool": "steal"}, "unknown_tool"), ({"depends_on": ["pay"]}, "self_dependency")]
)
async def test_a_plan_edited_in_a_fork_is_checked_like_any_other(
    graph: PlanrailGraph, office: Office, changes: dict[str, Any], code: str
) -> None:
    await graph.ainvoke({"plan": FIND_AND_PAY}, thread())

    fork = await _fork_with(graph, **changes)
    with pytest.raises(PlanError, match=rf"{code} \[pay\]"):
        await graph.ainvoke(None, fork)
    assert office.paid == []


async def test_a_run_whose_tool_is_gone_says_so_before_anything_runs(graph: PlanrailGraph) -> None:
    await graph.ainvoke({"plan": FIND_AND_PAY}, thread())
    other = build_graph(checkpointer=graph.checkpointer, store=graph.memory)  # type: ignore[arg-type]

    with pytest.raises(PlanError, match=r"unknown_tool \[pay\]") as raised:
        await other.ainvoke(Command(resume="approve"), thread())
    assert "[find]" not in str(raised.value)


def test_a_notebook_draws_the_graph_without_asking_a_web_service(graph: PlanrailGraph) -> None:
    shown = graph._repr_mimebundle_()

    assert set(shown) == {"text/plain", "text/markdown"}
    assert shown["text/markdown"].startswith("```mermaid\n")
    assert "scheduler -.-> executor;" in shown["text/markdown"]
