"""Fallbacks of lookups: another tool, then an older result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.limits.support import House, Json, rows, run, step, thread, wish
from tests.support.models import says
from tools import HardToolError, SoftToolError, policy

READ = {"effect": "read", "max_attempts": 2, "backoff_base": 0}


class Prices:
    """Two price services; `faults` says how each fails, by name."""

    def __init__(self, **fields: Any) -> None:
        self.calls: list[str] = []
        self.faults: dict[str, Exception] = {}
        self.on_call: Callable[[], None] = lambda: None
        self.fields = {**READ, **fields}

    def _answer(self, name: str) -> Json:
        self.calls.append(name)
        if name in self.faults:
            raise self.faults[name]
        self.on_call()
        return {"price": len(self.calls), "from": name}

    def tools(self, **other: Any) -> list[Any]:
        @policy(**self.fields)
        async def price(sku: str) -> Json:
            """Tell a price."""
            return self._answer("price")

        @policy(**{**READ, **other})
        async def list_price(sku: str, net: bool = False) -> Json:
            """Tell the price of the list."""
            return self._answer("list_price")

        return [price, list_price]


PRICE = step("a", "price", args={"sku": "A1"})


def test_another_tool_takes_the_place_of_one_that_failed(tmp_path: Path) -> None:
    prices = Prices(fallback="list_price")
    house = House(tmp_path / "runs.db", prices.tools())
    prices.faults["price"] = SoftToolError("busy")

    with house.opened() as graph:
        document = run(graph, PRICE)

    assert document["status"] == "succeeded"
    row = rows(document)["a"]
    assert row["output"]["from"] == "list_price"
    assert row["fallback_tool"] == "list_price"
    assert prices.calls == ["price", "price", "list_price"]
    assert row["attempts"] == document["usage"]["tool_calls"] == 3
    entry = house.entries("t")["a"]
    assert (entry.tool, entry.fallback_tool) == ("price", "list_price")
    assert entry.note == "by list_price in the place of price, soft_tool_error: busy"
    assert not entry.stale


def test_a_hard_failure_falls_back_too_and_a_refusal_does_not(tmp_path: Path) -> None:
    prices = Prices(fallback="list_price", deny_when=("sku == 'X'",))
    house = House(tmp_path / "runs.db", prices.tools())
    prices.faults["price"] = HardToolError("not_found", "no such article")
    denied = wish(step("a", "price", args={"sku": "${params.sku}"}))
    denied["plan"]["params"] = {"sku": "X"}

    with house.opened() as graph:
        taken = run(graph, PRICE, name="r1")
        refused = graph.invoke(denied, thread("r2"))

    assert rows(taken)["a"]["output"]["from"] == "list_price"
    assert rows(refused)["a"]["error"]["code"] == "forbidden"
    assert prices.calls == ["price", "list_price"]


def test_a_rule_of_the_other_tool_still_holds(tmp_path: Path) -> None:
    prices = Prices(fallback="list_price")
    house = House(tmp_path / "runs.db", prices.tools(approve_when=("sku == 'A1'",)))
    prices.faults["price"] = HardToolError("not_found", "no such article")

    with house.opened() as graph:
        document = run(graph, PRICE)

    assert prices.calls == ["price"]
    error = rows(document)["a"]["error"]
    assert error["code"] == "not_found"
    assert "list_price in its place: not_allowed: approval required" in error["message"]


def test_what_the_other_tool_gives_must_be_what_was_asked_for(tmp_path: Path) -> None:
    whole = {"type": "object", "required": ["price", "currency"]}
    prices = Prices(fallback="list_price", output_schema=whole)
    house = House(tmp_path / "runs.db", prices.tools())
    prices.faults["price"] = HardToolError("gone", "no longer sold")

    with house.opened() as graph:
        document = run(graph, PRICE)

    error = rows(document)["a"]["error"]
    assert error["code"] == "gone"
    assert "list_price in its place: incomplete_output" in error["message"]


def test_when_all_fail_the_first_failure_stays_with_what_was_tried(tmp_path: Path) -> None:
    prices = Prices(fallback=("list_price", "stale_cache"))
    house = House(tmp_path / "runs.db", prices.tools())
    prices.faults = {"price": SoftToolError("busy"), "list_price": HardToolError("gone", "no list")}

    with house.opened() as graph:
        document = run(graph, PRICE)

    error = rows(document)["a"]["error"]
    assert error == {
        "kind": "soft",
        "code": "soft_tool_error",
        "message": "busy; list_price in its place: gone: no list",
    }
    assert "fallback_tool" not in rows(document)["a"]


def test_an_older_result_is_taken_last_and_marked_wherever_it_is_told(tmp_path: Path) -> None:
    prices = Prices(fallback=("stale_cache", "list_price"), cache_scope="shared", cache_ttl=10)
    house = House(tmp_path / "runs.db", prices.tools())

    with house.opened() as graph:
        run(graph, PRICE, name="r1")
        house.clock.move(3600)
        prices.faults = {"price": SoftToolError("busy"), "list_price": SoftToolError("busy too")}
        document = run(graph, PRICE | {"title": "the price of A1"}, name="r2")

    row = rows(document)["a"]
    assert (row["age_seconds"], row["stale"], row["output"]["price"]) == (3600.0, True, 1)
    assert "fallback_tool" not in row
    assert document["status"] == "succeeded"
    assert document["answer"].endswith("\nNot up to date: the price of A1 is 3600 s old.")
    note = house.entries("r2")["a"].note
    assert note.startswith("stale, 3600 s old: soft_tool_error: busy; list_price in its place")


def test_old_results_of_a_maps_items_are_told_together(tmp_path: Path) -> None:
    prices = Prices(fallback="stale_cache", cache_scope="shared")
    house = House(tmp_path / "runs.db", prices.tools())
    inner = {"action": "tool", "tool": "price", "args": {"sku": "${item}"}}

    def over(*skus: str) -> Json:
        return {"id": "m", "title": "prices", "action": "map", "over": list(skus), "step": inner}

    with house.opened() as graph:
        before = run(graph, over("A1", "A2"), name="r1")
        house.clock.move(90)
        prices.faults["price"] = SoftToolError("busy")
        document = run(graph, over("A1", "A2", "A3") | {"min_success": 2}, name="r2")

    assert "stale" not in rows(before)["m"]
    row = rows(document)["m"]
    assert (row["age_seconds"], row["stale"]) == (90.0, True)
    assert document["answer"].endswith("\nNot up to date: prices has 2 results up to 90 s old.")
    assert [failure["item"] for failure in rows(document)["m"]["output"]["failures"]] == ["A3"]


def test_an_agents_calls_are_kept_and_fall_back_like_any_other(tmp_path: Path) -> None:
    prices = Prices(fallback="list_price", cache_ttl=60)
    asks = [{"tool": "price", "args": {"sku": sku}} for sku in ("A1", "A2")]
    house = House(tmp_path / "runs.db", prices.tools(), model=says(*asks, {"result": "both"}))
    agent = {"id": "w", "action": "agent", "instruction": "ask", "tools": ["price"], "depends_on": ["a"]}

    def faults() -> None:
        prices.faults["price"] = SoftToolError("busy")

    with house.opened() as graph:
        prices.on_call = faults
        document = run(graph, PRICE, agent)

    entries = house.entries("t")
    assert document["status"] == "succeeded"
    assert prices.calls == ["price", "price", "price", "list_price"]
    assert (entries["w#0"].age, entries["w#0"].attempts) == (0.0, 0)
    assert (entries["w#1"].tool, entries["w#1"].fallback_tool) == ("price", "list_price")
    assert document["usage"]["tool_calls"] == 4


def test_results_are_kept_for_a_bad_day_also_without_a_cache(tmp_path: Path) -> None:
    prices = Prices(fallback="stale_cache", cache_scope="shared", stale_ttl=100)
    house = House(tmp_path / "runs.db", prices.tools())

    with house.opened() as graph:
        for name in ("r1", "r2"):
            run(graph, PRICE, name=name)
        prices.faults["price"] = SoftToolError("busy")
        house.clock.move(100)
        old = run(graph, PRICE, name="r3")
        house.clock.move(1)
        too_old = run(graph, PRICE, name="r4")

    assert prices.calls[:2] == ["price", "price"]
    assert rows(old)["a"]["output"]["price"] == 2
    assert rows(too_old)["a"]["status"] == "failed"


def test_an_old_result_is_no_answer_to_a_clear_no(tmp_path: Path) -> None:
    prices = Prices(fallback="stale_cache", cache_scope="shared")
    house = House(tmp_path / "runs.db", prices.tools())

    with house.opened() as graph:
        run(graph, PRICE, name="r1")
        prices.faults["price"] = HardToolError("gone", "no longer sold")
        document = run(graph, PRICE, name="r2")

    assert rows(document)["a"]["error"]["code"] == "gone"


def test_a_tool_that_is_left_alone_gives_its_old_result_without_a_call(tmp_path: Path) -> None:
    prices = Prices(fallback="stale_cache", cache_scope="shared", breaker=(2, 60))
    house = House(tmp_path / "runs.db", prices.tools())

    with house.opened() as graph:
        run(graph, PRICE, name="r1")
        prices.faults["price"] = SoftToolError("busy")
        run(graph, PRICE, name="r2")
        document = run(graph, PRICE, name="r3")

    assert prices.calls == ["price"] * 3
    assert rows(document)["a"]["stale"]
    assert rows(document)["a"]["attempts"] == 0
