"""Rates: never more calls in any window than allowed, and nobody who waits holds a place."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.store.memory import InMemoryStore

from tests.limits.support import NOON, Clock, House, rows, run, step, thread, wish
from tools import Rate, ToolPolicy, ToolSetupError, policy
from tools.rate import RateWindow


@pytest.mark.parametrize(
    ("given_", "calls", "seconds"),
    [
        ("5/s", 5, 1), ("100/min", 100, 60), ("100 / minutes", 100, 60), ("20/10s", 20, 10),
        ("1/0.5s", 1, 0.5), ("3/H", 3, 3600), ("9/day", 9, 86_400), ((2, 0.25), 2, 0.25), ([7, 1], 7, 1),
        (Rate(calls=4, seconds=2), 4, 2),
    ],
)  # fmt: skip
def test_a_rate_is_written_in_several_ways(given_: Any, calls: int, seconds: float) -> None:
    assert ToolPolicy(rate=given_).rate == Rate(calls=calls, seconds=seconds)


@pytest.mark.parametrize(
    "given_", ["5", "5/m", "0/s", "-1/s", "5/0s", "x/s", "", (1,), (1, 2, 3), (0, 1), 5, (1, -1)]
)
def test_what_is_no_rate_is_refused_when_the_policy_is_declared(given_: Any) -> None:
    with pytest.raises(ToolSetupError, match="rate"):
        policy(effect="read", rate=given_)


def _most_in_any(times: Sequence[float], seconds: float) -> int:
    return max((sum(begin <= t < begin + seconds for t in times) for begin in times), default=0)


@given(st.integers(1, 4), st.sampled_from([0.25, 1.0, 60.0]), st.lists(st.floats(0, 40), max_size=60))
def test_no_window_ever_has_more_calls_and_the_wait_it_tells_is_enough(
    calls: int, seconds: float, steps: list[float]
) -> None:
    window, now, taken = RateWindow(Rate(calls=calls, seconds=seconds)), 1_000_000.0, list[float]()
    for pause in steps:
        now += pause
        wait = window.take(now)
        if wait:
            assert wait <= seconds + 0.01
            now += wait
            assert window.take(now) == 0.0
        taken.append(now)

    assert _most_in_any(taken, seconds) <= calls


def test_a_clock_that_goes_back_lets_nothing_more_through() -> None:
    window = RateWindow(Rate(calls=1, seconds=10))
    assert window.take(100.0) == 0.0
    assert window.take(50.0) > 0
    assert window.take(111.0) == 0.0


def test_a_clock_that_goes_back_keeps_nobody_waiting_until_it_is_there_again() -> None:
    window = RateWindow(Rate(calls=1, seconds=10))
    assert window.take(4_000.0) == 0.0
    assert window.take(400.0) == pytest.approx(10, abs=0.01)
    assert window.take(409.0) > 0
    assert window.take(411.0) == 0.0
    assert window.take(412.0) > 0


class Register:
    """A rated tool and a free one, which write down when they were called."""

    def __init__(self, clock: Clock, **fields: Any) -> None:
        self.clock = clock
        self.times: list[float] = []
        self.order: list[str] = []
        self.on_call: Callable[[], None] = lambda: None
        self.fields = fields

    def tools(self) -> list[Any]:
        @policy(**{"effect": "read", "backoff_base": 0, **self.fields})
        async def rated(n: int = 0) -> int:
            """Count."""
            self.times.append(self.clock.now().timestamp())
            self.order.append(f"rated {n}")
            self.on_call()
            await asyncio.sleep(0)
            return n

        @policy(effect="read")
        async def free(n: int = 0) -> int:
            """Count."""
            self.order.append(f"free {n}")
            return n

        return [rated, free]


@settings(max_examples=12)
@given(
    st.integers(1, 3), st.sampled_from([1.0, 2.5]), st.integers(1, 10), st.integers(1, 4), st.integers(1, 3)
)
def test_all_steps_of_all_runs_are_called_within_the_rate(
    calls: int, seconds: float, steps: int, cap: int, runs: int
) -> None:
    clock = Clock()
    register = Register(clock, rate=(calls, seconds))
    house = House(Path(), register.tools(), clock, {"max_concurrency": cap})
    graph = house.graph(InMemorySaver(), InMemoryStore())
    plan = wish(*(step(f"s{n}", "rated", args={"n": n}) for n in range(steps)))

    async def all_runs() -> Any:
        return await asyncio.gather(*(graph.ainvoke(plan, thread(f"r{n}")) for n in range(runs)))

    documents = asyncio.run(all_runs())

    assert {document["status"] for document in documents} == {"succeeded"}
    assert len(register.times) == steps * runs
    assert _most_in_any(register.times, seconds) <= calls
    least = (steps * runs - 1) // calls * seconds
    assert register.times[-1] - register.times[0] <= least * 1.01 + 0.1 * steps * runs


def test_who_waits_for_the_rate_holds_no_place(tmp_path: Path) -> None:
    clock = Clock()
    register = Register(clock, rate="1/min")
    house = House(tmp_path / "runs.db", register.tools(), clock, {"max_concurrency": 1})

    with house.opened() as graph:
        document = run(
            graph, step("a", "rated", args={"n": 1}), step("b", "rated", args={"n": 2}),
            *(step(f"f{n}", "free", args={"n": n}) for n in range(3)),
        )  # fmt: skip

    assert document["status"] == "succeeded"
    assert register.order == ["rated 1", "free 0", "free 1", "free 2", "rated 2"]


def test_a_write_waits_before_its_intent_is_written(tmp_path: Path) -> None:
    clock = Clock()
    register = Register(clock, effect="write", idempotent=True, risk="low", rate="1/min")
    house = House(tmp_path / "runs.db", register.tools(), clock)

    with house.opened() as graph:
        document = run(graph, step("a", "rated"), step("b", "rated", args={"n": 1}))

    first, second = sorted(row["started_at"] for row in document["steps"])
    assert (first, second[:19]) == ("2026-03-01T12:00:00+00:00", "2026-03-01T12:01:00")


def test_a_wait_that_the_budget_of_time_does_not_allow_is_not_begun(tmp_path: Path) -> None:
    clock = Clock()
    register = Register(clock, rate="1/min")
    house = House(tmp_path / "runs.db", register.tools(), clock, {"max_wall_seconds": 50})

    with house.opened() as graph:
        document = run(graph, step("a", "rated"), step("b", "rated", args={"n": 1}))

    assert [row["status"] for row in document["steps"]] == ["succeeded", "failed"]
    error = rows(document)["b"]["error"]
    assert error["code"] == "rate_limited"
    assert "1 calls in 60 s" in error["message"]
    assert "max_wall_seconds" in error["message"]
    assert clock.slept == []


async def test_a_run_that_is_cancelled_while_it_waits_leaves_nothing_behind(tmp_path: Path) -> None:
    waits = asyncio.Event()

    class Standing(Clock):
        async def sleep(self, seconds: float) -> None:
            waits.set()
            await asyncio.Event().wait()

    clock = Standing()
    register = Register(clock, rate="1/min")
    house = House(tmp_path / "runs.db", register.tools(), clock)
    with house.opened() as graph:
        task = asyncio.ensure_future(graph.ainvoke(wish(step("a", "rated"), step("b", "rated")), thread()))
        await waits.wait()
        task.cancel()
        await asyncio.wait({task})
        await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}

    assert task.cancelled()
    assert not others
    assert len(register.times) == 1


async def test_a_run_that_is_asked_to_stop_does_not_wait_for_its_turn(tmp_path: Path) -> None:
    clock = Clock()
    register = Register(clock, effect="write", idempotent=True, risk="low", rate="1/h")
    house = House(tmp_path / "runs.db", register.tools(), clock)
    control = RunControl()
    plan = wish(step("a", "rated"), step("b", "rated", args={"n": 1}))

    with house.opened() as graph:
        task = asyncio.ensure_future(graph.ainvoke(plan, thread(), control=control))
        await clock.asked.wait()
        control.request_drain()
        with pytest.raises(GraphDrained):
            await task
        stopped = clock.now()
        document = await graph.ainvoke(None, thread())

    assert (stopped - NOON).total_seconds() < 10
    assert document["status"] == "succeeded"
    assert [row["attempts"] for row in document["steps"]] == [1, 1]
    assert register.order == ["rated 0", "rated 1"]


async def test_of_many_that_wait_for_a_place_only_those_inside_end_when_the_run_is_asked_to_stop(
    tmp_path: Path,
) -> None:
    clock, control = Clock(), RunControl()
    register = Register(clock)
    house = House(tmp_path / "runs.db", register.tools(), clock, {"max_concurrency": 2})
    register.on_call = control.request_drain

    with house.opened() as graph:
        plan = wish(*(step(f"s{n}", "rated", args={"n": n}) for n in range(20)))
        with pytest.raises(GraphDrained):
            await graph.ainvoke(plan, thread(), control=control)
        begun = len(register.order)
        document = await graph.ainvoke(None, thread())

    assert begun <= 2
    assert document["status"] == "succeeded"
    assert [row["attempts"] for row in document["steps"]] == [1] * 20
