"""The graph from Python: an ordinary compiled LangGraph graph, in any loop."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from tests.acceptance.support import (
    DOCUMENT_KEYS,
    STEP_KEYS,
    build,
    given,
    opened,
    outputs,
    plan,
    step,
    stored,
    thread,
    waiting_steps,
    write,
)
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0

NODES = {"planner", "scheduler", "approval", "executor", "validator", "replanner", "reporter"}
GOOD = plan(step("find", "web_search", {"query": "q"}), write("save", "${find.items[1].name}"))


def done(result: dict[str, Any]) -> None:
    assert result["status"] == "succeeded", result
    assert result["success"] is True
    assert outputs(result)["find"]["count"] == 3
    assert outputs(result)["save"] == "save.md"


def test_invoke_gives_the_documented_output(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    result = graph.invoke(given(GOOD), thread())

    assert isinstance(graph, CompiledStateGraph)
    assert set(graph.get_graph().nodes) >= NODES
    assert result.keys() >= DOCUMENT_KEYS
    done(result)
    assert all(row.keys() >= STEP_KEYS for row in result["steps"])
    assert result["answer"]
    assert list(result["pending"]) == []
    assert len(list(graph.get_state_history(thread()))) > 1


def test_no_checkpointer_is_needed_for_a_plan_that_asks_nobody(toolbox: Toolbox) -> None:
    done(build(toolbox).invoke(given(GOOD)))


def test_a_plan_object_is_as_good_as_a_dict(toolbox: Toolbox, store: Any) -> None:
    from graph.plan import Plan

    made = Plan.model_validate(GOOD)

    done(stored(toolbox, store).invoke({"goal": "g", "plan": made}, thread()))


async def test_ainvoke_and_invoke_work_in_a_running_loop(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    done(await graph.ainvoke(given(GOOD), thread("asynchronous")))
    done(graph.invoke(given(GOOD), thread("synchronous")))  # a notebook's cell


def test_stream_tells_of_the_nodes_and_ends_with_the_output(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    told = {
        name for update in graph.stream(given(GOOD), thread("a"), stream_mode="updates") for name in update
    }
    values = list(graph.stream(given(GOOD), thread("b"), stream_mode="values"))

    assert told <= NODES
    assert told >= {"planner", "scheduler", "executor", "reporter"}
    done(values[-1])


async def test_astream_does_the_same(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    values = [value async for value in graph.astream(given(GOOD), thread(), stream_mode="values")]

    done(values[-1])


def test_one_graph_works_in_two_loops_one_after_the_other(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    done(asyncio.run(graph.ainvoke(given(GOOD), thread("one"))))
    done(asyncio.run(graph.ainvoke(given(GOOD), thread("two"))))
    done(graph.invoke(given(GOOD), thread("three")))


def test_many_runs_at_once_keep_apart(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)

    async def all_of_them() -> list[dict[str, Any]]:
        plans = [plan(step("find", "plain", {"text": f"run {number}"})) for number in range(8)]
        return list(
            await asyncio.gather(
                *(graph.ainvoke(given(each), thread(f"run-{number}")) for number, each in enumerate(plans))
            )
        )

    results = asyncio.run(all_of_them())

    assert [outputs(each)["find"] for each in results] == [f"run {number}" for number in range(8)]


async def test_the_store_opens_with_async_with_and_keeps_its_runs(toolbox: Toolbox, database: Path) -> None:
    async with opened(database) as both:
        waiting = await stored(toolbox, both).ainvoke(given(P0), thread())
        assert waiting_steps(waiting) == {"s2"}
    async with opened(database) as both:
        result = await stored(toolbox, both).ainvoke(
            Command(resume={"s2": {"decision": "approve"}}), thread()
        )

    assert result["status"] == "succeeded"
    assert len(toolbox.calls("web_search")) == 1


def test_a_breakpoint_stops_before_its_node(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store, interrupt_before=["reporter"])

    graph.invoke(given(GOOD), thread())
    assert graph.get_state(thread()).next == ("reporter",)

    done(graph.invoke(None, thread()))
    assert len(toolbox.calls()) == 2


def test_strict_serialisation_warns_of_nothing(
    toolbox: Toolbox, database: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    with opened(database) as both:
        before = stored(toolbox, both).invoke(given(P0), thread())
    with opened(database) as both:
        after = stored(toolbox, both).invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    assert after["status"] == "succeeded"
    assert json.dumps(before["plan"], default=str) == json.dumps(after["plan"], default=str)
    assert "unregistered" not in caplog.text


def test_a_thread_whose_run_has_not_ended_takes_no_other(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    assert graph.invoke(given(P0), thread())["status"] == "waiting"
    calls = len(toolbox.calls())

    with pytest.raises(Exception, match="t1") as caught:
        graph.invoke(given(plan(write("other"))), thread())

    assert type(caught.value).__name__ == "RunExistsError"
    assert len(toolbox.calls()) == calls


def test_a_thread_whose_run_has_ended_takes_the_next(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    done(graph.invoke(given(GOOD), thread()))
    calls = len(toolbox.calls())

    done(graph.invoke(given(GOOD), thread()))

    assert len(toolbox.calls()) == 2 * calls
