"""Results that answer equal calls: once called, then had from the store, marked as what they are."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.limits.support import House, Json, rows, run, step, thread, wish
from tools import HardToolError, SoftToolError, policy


class Shop:
    """A price service that counts its calls and can be down."""

    def __init__(self, **fields: Any) -> None:
        self.calls: list[str] = []
        self.fault: Exception | None = None
        self.on_call: Callable[[], None] = lambda: None
        self.fields = {"effect": "read", "backoff_base": 0, "max_attempts": 2, **fields}

    def tools(self) -> list[Any]:
        @policy(**self.fields)
        async def price(sku: str, currency: str = "EUR") -> Json:
            """Tell a price."""
            self.calls.append(sku)
            self.on_call()
            await asyncio.sleep(0)
            if self.fault is not None:
                raise self.fault
            return {"sku": sku, "price": len(self.calls)}

        return [price]


def _price(step_id: str, *after: str, **args: Any) -> Json:
    return step(step_id, "price", *after, args={"sku": "A1", **args})


def test_an_equal_call_is_answered_from_the_cache_and_costs_no_tool_call(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools(), settings={"max_tool_calls": 1})
    shop.on_call = lambda: house.clock.move(5)

    with house.opened() as graph:
        document = run(graph, _price("a"), _price("b", "a", currency="EUR"))

    assert document["status"] == "succeeded"
    assert shop.calls == ["A1"]
    assert rows(document)["b"]["output"] == rows(document)["a"]["output"]
    assert rows(document)["b"]["attempts"] == 0
    assert document["usage"]["tool_calls"] == 1
    assert rows(document)["b"]["age_seconds"] == 0.0
    assert rows(document)["b"]["started_at"] is not None
    assert "age_seconds" not in rows(document)["a"]
    assert house.entries("t")["b"].note == "from the cache, 0 s old"


def test_a_kept_result_outlives_the_process_and_ends_with_its_time(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60, cache_scope="shared")
    house = House(tmp_path / "runs.db", shop.tools())

    seen = []
    for name, later in (("r1", 0), ("r2", 59), ("r3", 1), ("r4", 59)):
        house.clock.move(later)
        with house.opened() as graph:
            seen.append(rows(run(graph, _price("a"), name=name))["a"])

    assert [row["output"]["price"] for row in seen] == [1, 1, 2, 2]
    assert [row.get("age_seconds") for row in seen] == [None, 59.0, None, 59.0]
    assert shop.calls == ["A1", "A1"]


def test_runs_share_nothing_unless_the_policy_says_so_and_then_within_their_scope(tmp_path: Path) -> None:
    own, shared = Shop(cache_ttl=60), Shop(cache_ttl=60, cache_scope="shared")
    for shop, expected in ((own, 3), (shared, 2)):
        house = House(tmp_path / f"{expected}.db", shop.tools())
        with house.opened() as graph:
            run(graph, _price("a"), name="r1", context={"cache_scope": "ada"})
            run(graph, _price("a"), name="r2", context={"cache_scope": "ada"})
            run(graph, _price("a"), name="r3", context={"cache_scope": "bob"})
        assert len(shop.calls) == expected


@pytest.mark.parametrize(
    "args", [{"sku": "A2"}, {"currency": "USD"}, {"sku": "a1"}], ids=["other", "not the default", "case"]
)
def test_another_call_is_made(tmp_path: Path, args: Json) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools())

    with house.opened() as graph:
        run(graph, _price("a"), _price("b", "a", **args))

    assert len(shop.calls) == 2


def test_failures_are_not_kept(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60, cache_scope="shared")
    house = House(tmp_path / "runs.db", shop.tools())

    with house.opened() as graph:
        shop.fault = HardToolError("not_found", "no such article")
        assert run(graph, _price("a"), name="r1")["status"] == "failed"
        shop.fault = None
        assert run(graph, _price("a"), name="r2")["status"] == "succeeded"

    assert len(shop.calls) == 2


def test_calls_with_a_secret_argument_are_always_made(tmp_path: Path) -> None:
    calls: list[str] = []

    @policy(effect="read", cache_ttl=60, redact={"token"}, fallback="stale_cache")
    async def mailbox(user: str, token: str = "") -> int:
        """Read a mailbox."""
        calls.append(token)
        return len(calls)

    house = House(tmp_path / "runs.db", [mailbox])
    secret = {"user": "ada", "token": "s3cret"}

    with house.opened() as graph:
        document = run(
            graph, step("a", "mailbox", args=secret), step("b", "mailbox", "a", args=secret),
            step("c", "mailbox", "b", args={"user": "ada"}), step("d", "mailbox", "c", args={"user": "ada"}),
        )  # fmt: skip

    assert [row["output"] for row in document["steps"]] == [1, 2, 3, 3]


async def test_equal_calls_at_once_make_one_call(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools())

    with house.opened() as graph:
        document = await graph.ainvoke(wish(*(_price(f"s{n}") for n in range(9))), thread())

    assert shop.calls == ["A1"]
    assert [row["output"]["price"] for row in document["steps"]] == [1] * 9
    assert document["usage"]["tool_calls"] == 1


def test_items_of_a_map_share_their_calls_too(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools())
    inner = {"action": "tool", "tool": "price", "args": {"sku": "${item}"}}

    with house.opened() as graph:
        document = run(graph, {"id": "m", "action": "map", "over": ["A1", "A2", "A1", "A1"], "step": inner})

    assert sorted(shop.calls) == ["A1", "A2"]
    assert [each["sku"] for each in document["steps"][0]["output"]["results"]] == ["A1", "A2", "A1", "A1"]
    assert document["usage"]["tool_calls"] == 2


async def test_runs_at_once_share_one_call(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60, cache_scope="shared")
    house = House(tmp_path / "runs.db", shop.tools())

    with house.opened() as graph:
        await asyncio.gather(*(graph.ainvoke(wish(_price("a")), thread(f"r{n}")) for n in range(5)))

    assert shop.calls == ["A1"]


async def test_a_failed_call_ends_all_that_waited_for_it(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools())
    shop.fault = SoftToolError("busy")

    with house.opened() as graph:
        document = await graph.ainvoke(wish(*(_price(f"s{n}") for n in range(5))), thread())

    assert len(shop.calls) == 2  # the attempts of one
    assert {row["error"]["message"] for row in document["steps"]} == {"busy"}
    assert sorted(row["attempts"] for row in document["steps"]) == [0, 0, 0, 0, 2]


async def test_a_step_with_more_attempts_does_not_give_up_with_one_that_has_fewer(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60)
    house = House(tmp_path / "runs.db", shop.tools())
    shop.fault = SoftToolError("busy")

    def recover() -> None:
        shop.fault = SoftToolError("busy") if len(shop.calls) < 3 else None

    shop.on_call = recover
    with house.opened() as graph:
        document = await graph.ainvoke(
            wish(_price("a") | {"max_attempts": 1}, _price("b") | {"max_attempts": 5}), thread()
        )

    assert {row["id"]: row["status"] for row in document["steps"]} == {"a": "failed", "b": "succeeded"}
    assert len(shop.calls) == 3


KILLED = """
import os, sys
from checkpoints import open_store
from graph.build import build_graph
from tools import policy

@policy(effect="read", cache_ttl=600, cache_scope="shared")
async def price(sku: str) -> str:
    "Tell a price."
    return f"{sku} by {os.getpid()}"

@policy(effect="read")
async def die(sku: str) -> str:
    "End this process."
    os.kill(os.getpid(), 9)

ids = {"a": "price", "b": "die" if sys.argv[2] == "die" else "price"}
steps = [{"id": i, "action": "tool", "tool": t, "args": {"sku": "A1"}} for i, t in ids.items()]
steps[1]["depends_on"] = ["a"]
with open_store(sys.argv[1]) as opened:
    graph = build_graph(tools=[price, die], checkpointer=opened.checkpointer, store=opened.store)
    config = {"configurable": {"thread_id": sys.argv[2]}}
    document = graph.invoke({"goal": "g", "plan": {"goal": "g", "steps": steps}}, config)
    print(os.getpid(), *(row["output"] for row in document["steps"]), sep=",")
"""


@pytest.mark.crash
def test_a_kept_result_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    script, database = tmp_path / "child.py", tmp_path / "runs.db"
    script.write_text(KILLED)

    def child(how: str) -> "subprocess.CompletedProcess[str]":
        root = str(Path(__file__).parents[2])
        command = [sys.executable, str(script), str(database), how]
        return subprocess.run(
            command, check=False, cwd=root, env={"PYTHONPATH": root}, capture_output=True, text=True
        )

    assert child("die").returncode == -9
    after = child("go")

    pid, first, second = after.stdout.strip().split(",")
    assert first == second
    assert not first.endswith(pid), after.stderr


async def test_a_run_that_is_cancelled_leaves_its_call_to_the_next(tmp_path: Path) -> None:
    shop = Shop(cache_ttl=60, cache_scope="shared")
    house = House(tmp_path / "runs.db", shop.tools())
    begun = asyncio.Event()
    shop.on_call = begun.set

    with house.opened() as graph:
        first = asyncio.ensure_future(graph.ainvoke(wish(_price("a")), thread("r1")))
        second = asyncio.ensure_future(graph.ainvoke(wish(_price("a")), thread("r2")))
        await begun.wait()
        first.cancel()
        await asyncio.wait({first, second})
        documents = [task.result() for task in (first, second) if not task.cancelled()]

    assert [document["status"] for document in documents] == ["succeeded"] * len(documents)
    assert documents
