"""Which ready step starts first: the one with the longest way behind it, by what is known of durations."""

import time
from pathlib import Path
from typing import Any

import pytest

from graph.build import build_graph
from tests.acceptance.support import given, opened, plan, step, thread
from tools import policy


def order_of(value: dict[str, Any], **more: Any) -> list[str]:
    """In which order the steps of a plan are called with one place."""
    called: list[str] = []

    @policy(effect="read")
    def do(label: str) -> str:
        """Do it."""
        called.append(label)
        return label

    graph = build_graph(tools=[do], settings={"max_concurrency": 1, **more})
    assert graph.invoke(given(value))["status"] == "succeeded"
    return called


def do(step_id: str, *depends_on: str, tool: str = "do") -> dict[str, Any]:
    return step(step_id, tool, {"label": step_id}, depends_on=list(depends_on))


def test_the_longest_way_starts_first_under_a_cap() -> None:
    value = plan(
        do("short1"), do("short2"), do("long1"), do("long2", "long1"), do("long3", "long2"),
        do("middle1"), do("middle2", "middle1"),
    )  # fmt: skip

    called = order_of(value)

    assert called[0] == "long1"
    assert called.index("middle1") < called.index("short1")
    assert called.index("middle1") < called.index("short2")


def test_a_step_that_much_hangs_on_is_not_kept_waiting_by_a_crowd() -> None:
    crowd = [do(f"c{number}") for number in range(20)]

    assert order_of(plan(*crowd, do("a"), do("b", "a")))[0] == "a"


@pytest.mark.parametrize("slow_first", [True, False])
def test_known_durations_decide(tmp_path: Path, slow_first: bool) -> None:
    """One slow step outweighs two quick ones in a row, once a run has shown it."""
    called: list[str] = []

    @policy(effect="read")
    def quick(label: str) -> str:
        """Be quick."""
        called.append(label)
        return label

    @policy(effect="read")
    def slow(label: str) -> str:
        """Take a third of a second."""
        called.append(label)
        time.sleep(0.35)
        return label

    slow_step, chain = do("slow", tool="slow"), [do("q1", tool="quick"), do("q2", "q1", tool="quick")]
    value = plan(*([slow_step, *chain] if slow_first else [*chain, slow_step]))
    with opened(tmp_path / "r.db") as both:
        graph = build_graph(
            tools=[quick, slow], checkpointer=both.checkpointer, store=both.store,
            settings={"max_concurrency": 1},
        )  # fmt: skip
        graph.invoke(given(value), thread("first"))
        first, called[:] = list(called), []
        graph.invoke(given(value), thread("second"))

    assert first[0] == "q1"  # nothing is known yet: the longer chain
    assert called[0] == "slow"
