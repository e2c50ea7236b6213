"""The demo shop."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from graph.plan import JSON, Risk
from tools import CallFailed, CallOutcome, CallSucceeded, HardToolError, ToolRegistry, call_tool, load_tools
from tools.shop import Shop, open_shop, shop_tools


async def _call(
    shop: Shop, name: str, args: dict[str, JSON], *, key: str = "k", **options: Any
) -> CallOutcome:
    registry = ToolRegistry.of(*shop_tools(shop.path, **options))
    return await call_tool(registry[name], args, key=key)


async def _output(shop: Shop, name: str, args: dict[str, JSON], **options: Any) -> dict[str, JSON]:
    outcome = await _call(shop, name, args, **options)
    assert isinstance(outcome, CallSucceeded), outcome
    assert isinstance(outcome.output, dict)
    return outcome.output


async def _code(shop: Shop, name: str, args: dict[str, JSON], **options: Any) -> str:
    outcome = await _call(shop, name, args, **options)
    assert isinstance(outcome, CallFailed), outcome
    assert outcome.kind == "hard"
    return outcome.code


async def test_the_late_order_waits_for_an_article_that_is_out_of_stock(shop: Shop) -> None:
    order = await _output(shop, "query_order", {"order_id": "A1234"})
    parcel = await _output(shop, "query_logistics", {"order_id": "A1234"})
    article = await _output(shop, "query_stock", {"sku": order["sku"]})
    assert (order["status"], parcel["status"], article["quantity"]) == ("delayed", "waiting_for_stock", 0)


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("query_order", {"order_id": "X"}, "order_not_found"),
        ("query_logistics", {"order_id": "'; DROP TABLE orders; --"}, "order_not_found"),
        ("query_stock", {"sku": ""}, "sku_not_found"),
        ("issue_refund", {"order_id": "X", "amount": 1}, "order_not_found"),
        ("issue_refund", {"order_id": "A1234", "amount": 0}, "invalid_amount"),
        ("issue_refund", {"order_id": "A1234", "amount": -5}, "invalid_amount"),
        ("issue_refund", {"order_id": "A1234", "amount": 259.01}, "refund_too_large"),
        ("send_reply", {"order_id": "X", "text": "hi"}, "order_not_found"),
        ("send_reply", {"order_id": "A1234", "text": " "}, "invalid_text"),
    ],
)
async def test_what_cannot_be_done_is_a_hard_failure_without_effect(
    shop: Shop, name: str, args: dict[str, JSON], code: str
) -> None:
    assert await _code(shop, name, args) == code
    assert shop.rows("refunds") == shop.rows("outbox") == shop.rows("effects") == []
    assert len(shop.rows("orders")) == 5


async def test_one_key_has_one_effect_and_gives_the_same_answer(shop: Shop) -> None:
    refund: dict[str, JSON] = {"order_id": "A1234", "amount": 19.99}
    answers = [await _output(shop, "issue_refund", refund, key="r") for _ in range(3)]
    replies = [
        await _output(shop, "send_reply", {"order_id": "A1234", "text": "sorry"}, key="m") for _ in range(3)
    ]
    assert answers == [{"refund_id": 1, "order_id": "A1234", "amount": 19.99}] * 3
    assert replies == [{"message_id": 1, "order_id": "A1234", "recipient": "li.wei@example.com"}] * 3
    assert [row["amount_cents"] for row in shop.rows("refunds")] == [1999]
    assert [row["text"] for row in shop.rows("outbox")] == ["sorry"]


async def test_without_keys_every_call_has_an_effect_and_the_policy_says_so(shop: Shop) -> None:
    for _ in range(2):
        await _output(shop, "issue_refund", {"order_id": "A1234", "amount": 1}, idempotent=False)
    assert len(shop.rows("refunds")) == 2
    registry = ToolRegistry.of(*shop_tools(shop.path, idempotent=False))
    assert registry["issue_refund"].policy.idempotent is False
    assert registry["issue_refund"].key_argument is None


async def test_refunds_of_one_order_never_exceed_its_amount(shop: Shop) -> None:
    await _output(shop, "issue_refund", {"order_id": "A1234", "amount": 200}, key="a")
    assert (
        await _code(shop, "issue_refund", {"order_id": "A1234", "amount": 59.01}, key="b")
        == "refund_too_large"
    )
    await _output(shop, "issue_refund", {"order_id": "A1234", "amount": 59}, key="c")


async def test_one_key_for_two_different_writes_is_refused(shop: Shop) -> None:
    await _output(shop, "issue_refund", {"order_id": "A1234", "amount": 1}, key="k")
    assert await _code(shop, "send_reply", {"order_id": "A1234", "text": "hi"}, key="k") == "key_conflict"


def test_policies_are_honest(shop: Shop) -> None:
    registry = ToolRegistry.of(*shop_tools(shop.path))
    risks = {name: (tool.effect, tool.risk) for name, tool in registry.items()}
    assert risks == {
        "query_order": ("read", Risk.LOW),
        "query_logistics": ("read", Risk.LOW),
        "query_stock": ("read", Risk.LOW),
        "issue_refund": ("write", Risk.HIGH),
        "send_reply": ("write", Risk.MEDIUM),
    }
    assert all(tool.policy.repeatable for tool in registry.values())


async def test_the_log_hears_of_every_call(shop: Shop) -> None:
    heard: list[tuple[str, dict[str, JSON]]] = []
    await _output(
        shop, "query_order", {"order_id": "A1235"}, log=lambda tool, args: heard.append((tool, dict(args)))
    )
    assert heard == [("query_order", {"order_id": "A1235"})]


def test_many_may_open_and_use_a_new_shop_at_once(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda _: len(open_shop(path).rows("orders")), range(16)))
    assert sizes == [5] * 16


async def test_a_busy_database_is_a_soft_failure(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.shop.database._BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(shop.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        outcome = await _call(shop, "issue_refund", {"order_id": "A1234", "amount": 1}, idempotent=False)
    assert isinstance(outcome, CallFailed)
    assert (outcome.kind, outcome.code) == ("soft", "soft_tool_error")


async def test_a_service_that_is_down_is_a_soft_failure_until_its_time(shop: Shop) -> None:
    now = datetime.now(UTC)
    shop.take_down("logistics", now + timedelta(hours=1))
    outcome = await _call(shop, "query_logistics", {"order_id": "A1234"})
    assert isinstance(outcome, CallFailed)
    assert outcome.kind == "soft"
    assert "the logistics service is down until" in outcome.message
    assert (await _output(shop, "query_order", {"order_id": "A1234"}))["status"] == "delayed"

    shop.take_down("logistics", now - timedelta(seconds=1))
    assert (await _output(shop, "query_logistics", {"order_id": "A1234"}))["status"] == "waiting_for_stock"


async def test_starting_over_forgets_what_was_done_and_keeps_the_orders(shop: Shop) -> None:
    await _output(shop, "issue_refund", {"order_id": "A1234", "amount": 1}, key="r")
    await _output(shop, "send_reply", {"order_id": "A1234", "text": "sorry"}, key="m")
    shop.take_down("logistics", datetime.now(UTC) + timedelta(hours=1))
    shop.start_over()
    assert [shop.rows(each) for each in ("refunds", "outbox", "effects", "services")] == [[]] * 4
    assert len(shop.rows("orders")) == 5


async def test_a_shop_of_an_earlier_version_is_given_what_it_lacks_and_keeps_what_it_has(shop: Shop) -> None:
    await _output(shop, "send_reply", {"order_id": "A1234", "text": "sorry"}, key="m")
    with closing(sqlite3.connect(shop.path)) as older, older:
        older.execute("DROP TABLE services")
        older.execute("DELETE FROM logistics WHERE order_id = 'A1238'")
        older.execute("DELETE FROM orders WHERE order_id = 'A1238'")
        older.execute("UPDATE orders SET status = 'shipped' WHERE order_id = 'A1234'")
        older.execute("PRAGMA user_version = 0")
    again = open_shop(shop.path)
    assert {row["order_id"]: row["status"] for row in again.rows("orders")}["A1234"] == "shipped"
    assert len(again.rows("orders")) == 5
    assert [row["text"] for row in again.rows("outbox")] == ["sorry"]
    assert again.rows("services") == []


def test_with_a_limit_only_larger_refunds_need_approval(shop: Shop) -> None:
    refund = ToolRegistry.of(*shop_tools(shop.path, refund_limit=100))["issue_refund"]
    assert refund.risk is Risk.MEDIUM
    assert refund.needs_approval({"order_id": "A1234", "amount": 100}) is None
    assert refund.needs_approval({"order_id": "A1234", "amount": 100.0}) is None
    assert refund.needs_approval({"order_id": "A1234", "amount": 100.01}) is not None
    assert refund.needs_approval({"order_id": "A1234", "amount": 259}) is not None


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(HardToolError, match="something else"):
        open_shop(path)


@pytest.mark.parametrize("name", ["missing/shop.db", "", "text.db"])
def test_a_place_that_cannot_hold_a_shop_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.db").write_text("not a database" * 100, encoding="utf-8")
    with pytest.raises(HardToolError) as caught:
        open_shop(tmp_path / name)
    assert caught.value.code == "shop_unavailable"


async def test_the_environment_chooses_the_shop_and_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANRAIL_SHOP_DB", str(tmp_path / "chosen.db"))
    registry = load_tools("tools.shop")
    assert not (tmp_path / "chosen.db").exists()
    assert isinstance(
        await call_tool(registry["query_order"], {"order_id": "A1234"}, key=None), CallSucceeded
    )
    assert (tmp_path / "chosen.db").exists()
    assert registry["send_reply"].policy.idempotent
    monkeypatch.setenv("PLANRAIL_SHOP_IDEMPOTENT", "0")
    assert not load_tools("tools.shop")["send_reply"].policy.idempotent
