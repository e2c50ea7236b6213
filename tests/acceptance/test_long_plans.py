"""A chain of sixty steps, and a caller's own recursion limit."""

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, StateGraph

from tests.acceptance.command_line import Inline
from tests.acceptance.support import build, given, opened, outputs, plan, statuses, step, thread
from tests.acceptance.toolbox import Toolbox

LONG = plan(
    step("s1", "plain", {"text": "x"}),
    *(step(f"s{number}", "plain", {"text": f"${{s{number - 1}}}"}) for number in range(2, 61)),
)


def _long_done(result: dict[str, Any], toolbox: Toolbox) -> None:
    assert result["status"] == "succeeded", result["reason"]
    assert set(statuses(result).values()) == {"succeeded"}
    assert outputs(result)["s60"] == "x"
    assert len(toolbox.calls("plain")) == 60


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
def test_a_chain_of_sixty_runs_from_the_command_line(
    inline: Inline, toolbox: Toolbox, scheduling: str
) -> None:
    ran = inline.run(LONG, "--set", f"scheduling={scheduling}")

    assert ran.code == 0, ran.text
    _long_done(ran.document, toolbox)


def test_a_chain_of_sixty_runs_behind_a_runnable(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        chain = RunnableLambda(given) | build(toolbox, checkpointer=both.checkpointer, store=both.store)

        _long_done(chain.invoke(LONG, thread()), toolbox)


def test_a_chain_of_sixty_runs_inside_a_node_of_another_graph(toolbox: Toolbox) -> None:
    inner = build(toolbox)

    class Outer(TypedDict):
        result: dict[str, Any]

    def work(state: Outer) -> Outer:
        return {"result": {**state["result"], **inner.invoke(given(LONG))}}

    outer = StateGraph(Outer)
    outer.add_node("work", work)
    outer.add_edge(START, "work")
    outer.add_edge("work", END)

    _long_done(outer.compile().invoke({"result": {}})["result"], toolbox)


def test_a_limit_of_the_callers_own_stops_cleanly_and_is_resumable(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(
            toolbox, checkpointer=both.checkpointer, store=both.store, settings={"scheduling": "layered"}
        )
        try:
            result = graph.invoke(given(LONG), thread(recursion_limit=25))
        except RecursionError as error:
            assert "25" in str(error)  # noqa: PT017 - it may as well end in a result
            result = None
        if result is None or result["status"] != "succeeded":
            assert len(toolbox.calls("plain")) < 60
            result = graph.invoke(None, thread(recursion_limit=1000))

        _long_done(result, toolbox)
