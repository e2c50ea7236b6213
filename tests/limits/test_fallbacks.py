"""Fallbacks of policies: another tool, then an older result; writes only when nothing happened."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.types import Command

from tests.limits.support import House, Json, rows, run, step, thread, wish
from tests.support.models import says
from tools import (
    HardToolError,
    IdempotencyKey,
    OutcomeUnknown,
    SoftToolError,
    ToolPolicy,
    ToolRegistry,
    ToolSetupError,
    policy,
)

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


class Mails:
    """Two ways to send a mail, one the fallback of the other."""

    def __init__(self, *, idempotent: bool = False, risk: str = "low") -> None:
        self.sent: list[str] = []
        self.fault: BaseException = SoftToolError("busy")
        self.fields = {"effect": "write", "idempotent": idempotent, "risk": risk, "backoff_base": 0}

    def tools(self) -> list[Any]:
        @policy(**self.fields, max_attempts=2, fallback="send_slowly")
        async def send(text: str) -> str:
            """Send a mail."""
            raise self.fault

        @policy(**self.fields)
        async def send_slowly(text: str) -> str:
            """Send a mail some other way."""
            self.sent.append(text)
            return "sent"

        return [send, send_slowly]


MAIL = step("a", "send", args={"text": "hello"})


@pytest.mark.parametrize("fault", [SoftToolError("busy"), HardToolError("full", "mailbox full")])
def test_a_write_that_did_not_happen_falls_back(tmp_path: Path, fault: Exception) -> None:
    mails = Mails()
    mails.fault = fault
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        document = run(graph, MAIL)

    assert document["status"] == "succeeded"
    assert mails.sent == ["hello"]
    assert [(e["tool"], e["status"]) for e in document["effects"]] == [("send_slowly", "succeeded")]


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize(
    "fault", [TimeoutError("no answer"), OutcomeUnknown("sent?"), ValueError("a bug on the way back")]
)
def test_a_write_that_may_have_happened_does_not(tmp_path: Path, fault: Exception, idempotent: bool) -> None:
    mails = Mails(idempotent=idempotent)
    mails.fault = fault
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        document = run(graph, MAIL)

    assert mails.sent == []
    assert rows(document)["a"]["status"] in ("unknown", "failed")


def test_a_write_that_a_person_approved_is_no_other_tools(tmp_path: Path) -> None:
    mails = Mails(risk="high")
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        asked = run(graph, MAIL)
        document = graph.invoke(Command(resume={"a": "approve"}), thread())

    assert asked["pending"][0]["tool"] == "send"
    assert rows(document)["a"]["status"] == "failed"
    assert mails.sent == []


KILLED = """
import os, sys
from typing import Annotated
from checkpoints import open_store
from graph.build import build_graph
from tools import IdempotencyKey, SoftToolError, policy

@policy(effect="write", idempotent=True, risk="low", backoff_base=0, max_attempts=1, fallback="send_slowly")
async def send(text: str, key: Annotated[str, IdempotencyKey]) -> str:
    "Send."
    with open(sys.argv[2], "a") as log:
        print("send", file=log)
    raise SoftToolError("busy")

@policy(effect="write", idempotent={idempotent}, risk="low", backoff_base=0)
async def send_slowly(text: str, key: Annotated[str, IdempotencyKey]) -> str:
    "Send otherwise."
    with open(sys.argv[2], "a") as log:
        print("slowly", key, file=log)
    if sys.argv[3] == "die":
        os.kill(os.getpid(), 9)
    return "sent"

steps = [{{"id": "a", "action": "tool", "tool": "send", "args": {{"text": "hello"}}}}]
given = {{"goal": "g", "plan": {{"goal": "g", "steps": steps}}}} if sys.argv[3] == "die" else None
with open_store(sys.argv[1]) as opened:
    graph = build_graph(tools=[send, send_slowly], checkpointer=opened.checkpointer, store=opened.store)
    document = graph.invoke(given, {{"configurable": {{"thread_id": "t"}}}})
    print(document["steps"][0]["status"])
"""


@pytest.mark.crash
@pytest.mark.parametrize(("idempotent", "ends"), [(True, "succeeded"), (False, "unknown")])
def test_a_fallbacks_write_is_taken_up_after_a_kill_by_the_fallback_alone(
    tmp_path: Path, idempotent: bool, ends: str
) -> None:
    script, log = tmp_path / "child.py", tmp_path / "log"
    script.write_text(textwrap.dedent(KILLED).format(idempotent=idempotent))

    def child(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), str(tmp_path / "runs.db"), str(log), how]
        root = Path(__file__).parents[2]
        return subprocess.run(
            command, check=False, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True
        )

    assert child("die").returncode == -9
    again = child("resume")

    assert again.stdout.strip() == ends, again.stderr
    lines = log.read_text().splitlines()
    assert lines[0] == "send"
    assert len(lines) == (3 if idempotent else 2)
    assert len(set(lines[1:])) == 1  # one key


async def _nothing(sku: str) -> None:
    """Do nothing."""
    await asyncio.sleep(0)


def _two(first: Json, second: Json, other: Any = _nothing) -> None:
    async def first_one(sku: str) -> None:
        """Do nothing."""

    name = other.__name__
    policies = {"first_one": ToolPolicy(**first, fallback=name), name: ToolPolicy(**second)}
    ToolRegistry.of(first_one, other, policies=policies)


async def _other_args(item: str) -> None:
    """Do nothing."""


async def _more_args(sku: str, shop: str) -> None:
    """Do nothing."""


async def _other_type(sku: int) -> None:
    """Do nothing."""


R: Json = {"effect": "read"}
W: Json = {"effect": "write"}


@pytest.mark.parametrize(
    ("first", "second", "other", "why"),
    [
        (R, W, _nothing, "the one is a read, the other a write"),
        (W, R, _nothing, "the one is a write, the other a read"),
        (W, {**W, "risk": "high"}, _nothing, "its risk is high"),
        ({**R, "redact": {"sku"}}, R, _nothing, "does not redact 'sku'"),
        (W, {**W, "money": True}, _nothing, "it moves money"),
        (R, {**R, "grounded": {"sku"}}, _nothing, "grounds 'sku'"),
        (R, R, _other_args, "takes no argument 'sku'"),
        (R, R, _more_args, "needs 'shop'"),
        (R, R, _other_type, "'sku' is of type integer, here it is string"),
    ],
)
def test_a_fallback_that_does_not_fit_is_refused_when_tools_are_registered(
    first: Json, second: Json, other: Any, why: str
) -> None:
    with pytest.raises(ToolSetupError, match=why):
        _two(first, second, other)


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "there is no such tool"), ("_nothing", "the tool itself")]
)
def test_a_fallback_that_is_not_there_is_refused(name: str, why: str) -> None:
    with pytest.raises(ToolSetupError, match=why):
        ToolRegistry.of(_nothing, policies={"_nothing": ToolPolicy(effect="read", fallback=name)})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"effect": "write", "cache_ttl": 5}, "cache_ttl is for reads"),
        ({"effect": "write", "fallback": "stale_cache"}, "stale_cache is for reads"),
        ({"effect": "read", "cache_ttl": 0}, "greater than 0"),
        ({"effect": "read", "cache_ttl": -1}, "greater than 0"),
        ({"effect": "read", "cache_scope": "everybody"}, "cache_scope"),
    ],
)
def test_a_policy_that_keeps_what_must_not_be_kept_is_refused(fields: Json, why: str) -> None:
    with pytest.raises(ToolSetupError, match=why):
        policy(**fields)


def test_results_of_a_tool_that_is_given_more_than_its_arguments_are_not_kept() -> None:
    async def find(sku: str, key: Annotated[str, IdempotencyKey]) -> None:
        """Do nothing."""

    with pytest.raises(ToolSetupError, match="injected 'key'"):
        ToolRegistry.of(find, policies={"find": ToolPolicy(effect="read", cache_ttl=5)})
