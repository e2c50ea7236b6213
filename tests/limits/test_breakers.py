"""Breakers: a tool that keeps failing is left alone, tried once, and trusted again."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.limits.support import House, Json, rows, run, step, thread, wish
from tools import BreakerPolicy, HardToolError, SoftToolError, ToolPolicy, ToolSetupError, policy
from tools.breaker import Breaker, BreakerPass


@pytest.mark.parametrize("given_", ["5", (1,), (0, 1), (3, 0), {"failures": 3, "secs": 1}, 5])
def test_what_is_no_breaker_is_refused_when_the_policy_is_declared(given_: Any) -> None:
    with pytest.raises(ToolSetupError, match="breaker"):
        policy(effect="read", breaker=given_)


def test_a_breaker_is_written_as_a_pair_or_in_full() -> None:
    assert ToolPolicy(breaker=(3, 9)).breaker == BreakerPolicy(failures=3, reset_seconds=9)
    assert ToolPolicy(breaker=BreakerPolicy(failures=3)).breaker == BreakerPolicy(
        failures=3, reset_seconds=30
    )


@dataclass
class Model:
    """What a breaker should do, told plainly."""

    failures: int
    reset: float
    in_a_row: int = 0
    opened_at: float | None = None
    trial: int | None = None
    epoch: int = 0
    passes: dict[int, int] = field(default_factory=dict)

    def enter(self, number: int, now: float) -> bool:
        if self.opened_at is not None:
            if now - self.opened_at < self.reset or self.trial is not None:
                return False
            if number not in self.passes:
                self.trial = number
        self.passes[number] = self.epoch
        return True

    def leave(self, number: int, now: float, failed: bool | None) -> None:
        epoch = self.passes.pop(number)
        if number == self.trial:
            self.trial = None
            if failed is not None:
                self.opened_at, self.in_a_row = (now, 0) if failed else (None, 0)
                self.epoch += 1
            return
        if epoch != self.epoch or self.opened_at is not None or failed is None:
            return
        self.in_a_row = self.in_a_row + 1 if failed else 0
        if self.in_a_row >= self.failures:
            self.opened_at, self.epoch = now, self.epoch + 1


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "fail", "fail", "fail", "pass", "nothing", "wait"]), st.integers(0, 3)
    ),
    max_size=50,
)


@given(st.integers(1, 3), ACTIONS)
def test_it_does_what_the_model_does(failures: int, actions: list[tuple[str, int]]) -> None:
    breaker, model = Breaker(BreakerPolicy(failures=failures, reset_seconds=10)), Model(failures, 10)
    now, inside, number = 1_000.0, list[tuple[int, BreakerPass]](), 0
    for action, which in actions:
        if action == "wait":
            now += 4 * which
        elif action == "enter":
            number += 1
            got = breaker.enter(now)
            assert isinstance(got, BreakerPass) == model.enter(number, now)
            if isinstance(got, BreakerPass):
                inside.append((number, got))
        elif inside:
            at, leave = inside.pop(which % len(inside))
            failed = {"fail": True, "pass": False, "nothing": None}[action]
            breaker.leave(leave, now, failed=failed)
            model.leave(at, now, failed)
        assert breaker.is_closed == (model.opened_at is None)
        assert sum(one.is_trial for _, one in inside) <= 1 or not breaker.is_closed


def test_a_clock_that_is_set_back_does_not_keep_it_shut() -> None:
    breaker = Breaker(BreakerPolicy(failures=1, reset_seconds=30))
    given_leave = breaker.enter(10_000.0)
    assert isinstance(given_leave, BreakerPass)
    breaker.leave(given_leave, 10_000.0, failed=True)
    assert breaker.enter(6_400.0) == pytest.approx(30)
    assert isinstance(breaker.enter(6_431.0), BreakerPass)


class Source:
    """A service whose next answers are told in advance; None is a good one."""

    def __init__(self, **fields: Any) -> None:
        self.calls = 0
        self.answers: list[Exception | None] = []
        self.hold: asyncio.Event | None = None
        self.fields = {"effect": "read", "max_attempts": 1, "breaker": (3, 60), **fields}

    def tools(self) -> list[Any]:
        @policy(**self.fields)
        async def ask(n: int = 0) -> int:
            """Ask the service."""
            self.calls += 1
            answer = self.answers.pop(0) if self.answers else None
            if self.hold is not None:
                await self.hold.wait()
            if answer is not None:
                raise answer
            return n

        return [ask]


def _asks(count: int) -> list[Json]:
    """One after the other, whatever becomes of them."""
    return [
        step(f"s{n}", "ask", *([f"s{n - 1}"] if n else []), args={"n": n}, on_dependency_failure="degrade")
        for n in range(count)
    ]


def _down(times: int) -> list[Exception | None]:
    return [SoftToolError("down")] * times


def test_after_its_failures_no_call_is_made_and_the_failure_says_so(tmp_path: Path) -> None:
    source = Source()
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = _down(9)

    with house.opened() as graph:
        document = run(graph, *_asks(5))

    codes = [row["error"]["code"] for row in document["steps"]]
    assert codes == ["soft_tool_error"] * 3 + ["breaker_open"] * 2
    assert source.calls == 3
    assert [row["attempts"] for row in document["steps"]] == [1, 1, 1, 0, 0]
    assert rows(document)["s3"]["error"]["kind"] == "soft"
    assert "ask kept failing and is left alone for another 60 s" in rows(document)["s3"]["error"]["message"]
    assert document["usage"]["tool_calls"] == 3


def test_it_is_shared_by_all_runs_of_a_graph_and_opens_for_one_call_when_its_time_is_over(
    tmp_path: Path,
) -> None:
    source = Source()
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = [*_down(3), SoftToolError("still down"), None]

    def status(graph: Any, name: str) -> str:
        row = run(graph, step("a", "ask"), name=name)["steps"][0]
        return str(row["error"]["code"] if row["error"] else row["status"])

    with house.opened() as graph:
        run(graph, *_asks(3), name="r1")
        seen = [status(graph, "r2")]
        house.clock.move(60)
        seen += [status(graph, "r3"), status(graph, "r4")]
        house.clock.move(59)
        seen.append(status(graph, "r5"))
        house.clock.move(1)
        seen += [status(graph, "r6"), status(graph, "r7")]

    assert seen == [
        "breaker_open",
        "soft_tool_error",
        "breaker_open",
        "breaker_open",
        "succeeded",
        "succeeded",
    ]
    assert source.calls == 6


async def test_one_call_tries_it_out_while_the_others_are_refused(tmp_path: Path) -> None:
    source = Source()
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = _down(3)
    with house.opened() as graph:
        await graph.ainvoke(wish(*_asks(3)), thread("r1"))
        house.clock.move(60)
        source.hold = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, source.hold.set)
        document = await graph.ainvoke(wish(*(step(f"p{n}", "ask") for n in range(4))), thread("r2"))

    assert source.calls == 4
    assert sorted(row["status"] for row in document["steps"]) == ["failed"] * 3 + ["succeeded"]


@pytest.mark.parametrize("answer", [HardToolError("not_found", "no such thing"), ValueError("odd")])
def test_a_service_that_says_no_is_not_down(tmp_path: Path, answer: Exception) -> None:
    source = Source()
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = [answer] * 6

    with house.opened() as graph:
        document = run(graph, *_asks(6))

    assert source.calls == 6
    assert {row["error"]["code"] for row in document["steps"]} <= {"not_found", "unexpected_error"}


def test_a_call_that_is_refused_on_this_side_tries_nothing_out(tmp_path: Path) -> None:
    source = Source(deny_when=("n == 13",))
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = _down(4)
    denied = wish(step("a", "ask", args={"n": "${params.n}"}))
    denied["plan"]["params"] = {"n": 13}

    with house.opened() as graph:
        run(graph, *_asks(3), name="r1")
        house.clock.move(60)
        document = graph.invoke(denied, thread("r2"))
        run(graph, step("a", "ask"), name="r3")
        after = run(graph, step("a", "ask"), name="r4")

    assert rows(document)["a"]["error"]["code"] == "forbidden"
    assert rows(after)["a"]["error"]["code"] == "breaker_open"


def test_attempts_of_one_step_count_and_end_with_it(tmp_path: Path) -> None:
    source = Source(max_attempts=9, backoff_base=0)
    house = House(tmp_path / "runs.db", source.tools())
    source.answers = _down(9)

    with house.opened() as graph:
        document = run(graph, step("a", "ask"))

    error = document["steps"][0]["error"]
    assert source.calls == 3
    assert error["code"] == "breaker_open"
    assert "down" in error["message"]
