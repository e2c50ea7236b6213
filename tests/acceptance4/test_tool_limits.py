"""What bounds the calls of a tool: kept results, rates, sessions, breakers, old results in need."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph.build import build_graph
from tests.acceptance.support import opened, outputs, plan, statuses
from tests.acceptance4.support import by_id, each, given, inner, step, thread
from tools import HardToolError, SoftToolError, ToolPolicy, policy


class Counted:
    """A lookup that counts its calls, and is out of order when told so."""

    def __init__(self, **fields: Any) -> None:
        self.calls: list[str] = []
        self.broken: Exception | None = None
        self.fields = {"effect": "read", "backoff_base": 0, **fields}

    def tool(self) -> Callable[..., Any]:
        @policy(**self.fields)
        def price(name: str, secret: str = "") -> dict[str, Any]:
            """Look up a price."""
            self.calls.append(name)
            if self.broken is not None:
                raise self.broken
            return {"name": name, "call": len(self.calls)}

        return price


def price(step_id: str, name: str, **more: Any) -> dict[str, Any]:
    return step(step_id, "price", {"name": name}, **more)


# ------------------------------------------------------------------------------------------ kept results


def test_equal_calls_one_after_the_other_are_one() -> None:
    counted = Counted(cache_ttl=60)
    value = plan(price("a", "x"), price("b", "x", depends_on=["a"]), price("c", "y", depends_on=["a"]))

    result = build_graph(tools=[counted.tool()]).invoke(given(value))

    assert sorted(counted.calls) == ["x", "y"]
    assert outputs(result)["b"] == outputs(result)["a"]
    assert "age_seconds" in by_id(result)["b"]


def test_equal_calls_at_one_time_are_one() -> None:
    entered, release = threading.Event(), threading.Event()
    calls: list[str] = []

    @policy(effect="read", cache_ttl=60)
    def price(name: str) -> int:
        """Look up a price, slowly."""
        calls.append(name)
        entered.set()
        assert release.wait(20)
        return 7

    @policy(effect="read")
    def open_up() -> str:
        """Let the slow one answer once it was asked."""
        assert entered.wait(20)
        release.set()
        return "open"

    value = plan(each("m", ["x"] * 6, inner("price", {"name": "${item}"})), step("o", "open_up"))

    result = build_graph(tools=[price, open_up]).invoke(given(value))

    assert calls == ["x"]
    assert outputs(result)["m"]["results"] == [7] * 6


def test_nothing_is_kept_without_being_asked_for() -> None:
    counted = Counted()

    build_graph(tools=[counted.tool()]).invoke(given(plan(price("a", "x"), price("b", "x"))))

    assert counted.calls == ["x", "x"]


def test_failures_are_not_kept() -> None:
    counted = Counted(cache_ttl=60)
    counted.broken = HardToolError("gone", "it is gone")
    graph = build_graph(tools=[counted.tool()], settings={"max_replans": 0})

    graph.invoke(
        given(
            plan(
                price("a", "x", optional=True),
                price("b", "x", depends_on=["a"], on_dependency_failure="degrade"),
            )
        )
    )

    assert counted.calls == ["x", "x"]


def test_calls_with_secrets_are_not_kept() -> None:
    counted = Counted(cache_ttl=60, redact=frozenset({"secret"}))
    args = {"name": "x", "secret": "s"}
    value = plan(step("a", "price", args), step("b", "price", args, depends_on=["a"]))

    build_graph(tools=[counted.tool()]).invoke(given(value))

    assert counted.calls == ["x", "x"]


@pytest.mark.parametrize(("scope", "calls"), [("run", 2), ("shared", 1)])
def test_who_shares_kept_results(tmp_path: Path, scope: str, calls: int) -> None:
    counted = Counted(cache_ttl=60, cache_scope=scope)
    for run_id in ("one", "two"):
        with opened(tmp_path / "r.db") as both:
            graph = build_graph(tools=[counted.tool()], checkpointer=both.checkpointer, store=both.store)
            graph.invoke(given(plan(price("a", "x"))), thread(run_id))

    assert len(counted.calls) == calls


def test_users_of_a_shared_store_do_not_see_each_others_results(tmp_path: Path) -> None:
    counted = Counted(cache_ttl=60, cache_scope="shared")
    for user in ("ada", "bo", "ada"):
        with opened(tmp_path / "r.db") as both:
            graph = build_graph(
                tools=[counted.tool()], checkpointer=both.checkpointer, store=both.store,
                settings={"cache_scope": user},
            )  # fmt: skip
            graph.invoke(given(plan(price("a", "x"))), thread())

    assert len(counted.calls) <= 2


@pytest.mark.parametrize("field", [{"cache_ttl": 5}, {"fallback": "stale_cache"}])
def test_a_write_is_never_kept(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="read"):
        ToolPolicy(effect="write", **field)


# ----------------------------------------------------------------------------------------- old results


def test_an_old_result_in_need_says_that_it_is_old(tmp_path: Path) -> None:
    counted = Counted(cache_ttl=0.001, cache_scope="shared", fallback="stale_cache", max_attempts=2)
    with opened(tmp_path / "r.db") as both:
        graph = build_graph(tools=[counted.tool()], checkpointer=both.checkpointer, store=both.store)
        graph.invoke(given(plan(price("a", "x"))), thread("one"))
        counted.broken = SoftToolError("closed")

        result = graph.invoke(given(plan(price("a", "x"), price("other", "y"))), thread("two"))

    assert outputs(result)["a"] == {"name": "x", "call": 1}
    assert by_id(result)["a"]["stale"] is True
    assert by_id(result)["a"]["age_seconds"] >= 0
    assert "old" in result["answer"] or "stale" in result["answer"]
    assert statuses(result)["other"] == "failed"  # there is no old result of it, and none is made up
    assert result["status"] == "partial"


def test_a_policys_fallback_tool_takes_the_place() -> None:
    counted = Counted(fallback="spare")
    counted.broken = HardToolError("gone", "it is gone")

    @policy(effect="read")
    def spare(name: str, secret: str = "") -> str:
        """Look elsewhere."""
        return f"spare {name}"

    result = build_graph(tools=[counted.tool(), spare]).invoke(given(plan(price("a", "x"))))

    assert outputs(result)["a"] == "spare x"
    assert by_id(result)["a"]["fallback_tool"] == "spare"


def test_the_plans_fallback_comes_before_the_policys() -> None:
    counted = Counted(fallback="spare")
    counted.broken = HardToolError("gone", "it is gone")

    @policy(effect="read")
    def spare(name: str, secret: str = "") -> str:
        """Look elsewhere."""
        return f"spare {name}"

    @policy(effect="read")
    def chosen(name: str) -> str:
        """Look where the plan says."""
        return f"chosen {name}"

    value = plan(price("a", "x", fallback={"tool": "chosen"}))

    result = build_graph(tools=[counted.tool(), spare, chosen]).invoke(given(value))

    assert outputs(result)["a"] == "chosen x"


# ------------------------------------------------------------------------------ who has to wait


def test_a_tool_that_keeps_failing_is_left_alone() -> None:
    counted = Counted(breaker=(3, 600), max_attempts=1)
    counted.broken = SoftToolError("down")
    value = plan(each("m", list("abcdefgh"), inner("price", {"name": "${item}"}), min_success=0))
    graph = build_graph(tools=[counted.tool()], settings={"max_concurrency": 1})

    result = graph.invoke(given(value))

    assert len(counted.calls) == 3
    failures = outputs(result)["m"]["failures"]
    assert [row["code"] for row in failures[3:]] == ["breaker_open"] * 5


def test_hard_failures_do_not_open_the_breaker() -> None:
    """That something is not there says nothing about the service."""
    counted = Counted(breaker=(2, 600), max_attempts=1)
    counted.broken = HardToolError("gone", "it is gone")
    value = plan(each("m", list("abcdef"), inner("price", {"name": "${item}"}), min_success=0))

    build_graph(tools=[counted.tool()], settings={"max_concurrency": 1}).invoke(given(value))

    assert len(counted.calls) == 6


def test_one_tools_breaker_holds_up_no_other() -> None:
    counted = Counted(breaker=(1, 600), max_attempts=1)
    counted.broken = SoftToolError("down")

    @policy(effect="read")
    def other(name: str) -> str:
        """Look elsewhere."""
        return name

    value = plan(
        price("a", "x", fallback={"tool": "other"}),
        price("b", "y", depends_on=["a"], fallback={"tool": "other"}),
    )

    result = build_graph(tools=[counted.tool(), other]).invoke(given(value))

    assert result["status"] == "succeeded"
    assert counted.calls == ["x"]
    assert outputs(result) == {"a": "x", "b": "y"}


def test_no_more_calls_than_the_rate_allows() -> None:
    at: list[float] = []

    @policy(effect="read", rate="2/0.5s")
    def tick(number: int) -> int:
        """Note the time."""
        at.append(time.monotonic())
        return number

    result = build_graph(tools=[tick]).invoke(
        given(plan(each("m", list(range(5)), inner("tick", {"number": "${item}"}))))
    )

    assert result["status"] == "succeeded"
    at.sort()
    assert at[2] - at[0] >= 0.4  # any third call is in another stretch of time
    assert at[4] - at[2] >= 0.4


def test_a_session_has_one_call_at_a_time_and_others_go_on() -> None:
    lock = threading.Lock()
    now: dict[str, int] = {"s1": 0, "s2": 0}
    most: dict[str, int] = {"s1": 0, "s2": 0}
    both = threading.Event()

    @policy(effect="read", session_arg="session")
    def browse(session: str, page: int) -> int:
        """Use a session; the first of each waits until both are in use."""
        with lock:
            now[session] += 1
            most[session] = max(most[session], now[session])
            if all(now.values()):
                both.set()
        assert both.wait(20)
        with lock:
            now[session] -= 1
        return page

    calls = [{"s": f"s{1 + number % 2}", "p": number} for number in range(10)]
    value = plan(each("m", calls, inner("browse", {"session": "${item.s}", "page": "${item.p}"})))

    result = build_graph(tools=[browse]).invoke(given(value))

    assert outputs(result)["m"]["results"] == list(range(10))
    assert most == {"s1": 1, "s2": 1}
