"""A tool with several services behind it: each has places, a rate and a breaker of its own."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.limits.support import House, Json, rows, run, step
from tools import SoftToolError, ToolPolicy, ToolRegistry, ToolSetupError, policy
from tools.limits import MAX_GATES, Passed, ToolLimits


class Hosts:
    """A tool that asks one of several hosts, some of which are down."""

    def __init__(self, *down: str, **fields: Any) -> None:
        self.calls: Counter[str] = Counter()
        self.down = down
        self.fields = {"effect": "read", "service_arg": "host", "max_attempts": 1, **fields}

    def tool(self) -> Callable[..., Any]:
        @policy(**self.fields)
        async def ask(host: str = "home", n: int = 0) -> int:
            """Ask a host."""
            self.calls[host] += 1
            if host in self.down:
                raise SoftToolError(f"{host} is busy")
            return n

        return ask


def _asking(items: list[Json]) -> Json:
    inner = {"action": "tool", "tool": "ask", "args": {"host": "${item.host}", "n": "${index}"}}
    return {"id": "m", "action": "map", "over": items, "min_success": 0, "step": inner}


def test_a_breaker_that_opens_for_one_service_shuts_no_other(tmp_path: Path) -> None:
    hosts = Hosts("bad", breaker=(2, 60))
    items: list[Json] = [{"host": name} for _ in range(6) for name in ("bad", "good")]
    house = House(tmp_path / "runs.db", [hosts.tool()], settings={"max_concurrency": 1})

    with house.opened() as graph:
        document = run(graph, _asking(items))

    assert document["status"] == "succeeded"
    assert hosts.calls == {"bad": 2, "good": 6}
    failures = rows(document)["m"]["output"]["failures"]
    assert [each["item"]["host"] for each in failures] == ["bad"] * 6
    assert "ask bad kept failing and is left alone" in failures[-1]["message"]


def test_a_rate_holds_for_each_service_by_itself(tmp_path: Path) -> None:
    hosts = Hosts(rate="1/60s")
    house = House(tmp_path / "runs.db", [hosts.tool()])

    with house.opened() as graph:
        document = run(graph, _asking([{"host": name} for name in ("a", "b", "a", "c")]))

    assert document["status"] == "succeeded"
    assert 60 <= sum(house.clock.slept) < 62  # one wait


def test_a_call_that_names_no_service_goes_to_the_one_by_default(tmp_path: Path) -> None:
    hosts = Hosts("home", breaker=(1, 60))
    house = House(tmp_path / "runs.db", [hosts.tool()], settings={"max_concurrency": 1, "max_replans": 0})

    with house.opened() as graph:
        document = run(
            graph,
            step("a", "ask", optional=True),
            step("b", "ask", args={"host": "home"}, optional=True),
        )

    assert hosts.calls["home"] == 1
    assert "is left alone" in rows(document)["b"]["error"]["message"]


def test_a_service_argument_that_the_tool_lacks_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="names a service_arg 'site' it does not have"):
        ToolRegistry.of(Hosts(service_arg="site").tool())


def test_gates_of_any_number_of_services_do_not_pile_up() -> None:
    tool = ToolRegistry.of(Hosts("x", breaker=(1, 60)).tool())["ask"]
    limits = ToolLimits()
    opened = limits.gate(tool, "first")
    assert opened is not None
    opened.enter(0.0, None, lambda: None)
    for number in range(3 * MAX_GATES):
        limits.gate(tool, f"host {number}")
    assert limits.gate(tool, "first") is opened  # somebody is inside
    assert limits.gate(tool, f"host {3 * MAX_GATES - 1}") is limits.gate(tool, f"host {3 * MAX_GATES - 1}")
    assert limits.gate(tool, "host 0") is not None
    assert len(limits._gates) <= MAX_GATES


def test_a_service_whose_calls_still_count_is_not_forgotten() -> None:
    async def ask(host: str) -> None:
        """Ask a host."""

    policies = {"ask": ToolPolicy(effect="read", rate="1/min", service_arg="host")}
    tool = ToolRegistry.of(ask, policies=policies)["ask"]
    limits = ToolLimits()
    gate = limits.gate(tool, "first", now=0.0)
    assert gate is not None
    entered = gate.enter(0.0, None, lambda: None)
    assert isinstance(entered, Passed)
    entered.close(1.0)

    for number in range(2 * MAX_GATES):
        limits.gate(tool, f"host {number}", now=60.0)
    assert limits.gate(tool, "first", now=60.0) is gate
    for number in range(2 * MAX_GATES):
        limits.gate(tool, f"host {number}", now=61.0)
    assert limits.gate(tool, "first", now=61.0) is not gate
