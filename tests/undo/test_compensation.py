"""A run that is given up undoes what it did, last things first, when the setting says so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from checkpoints import open_store
from graph.build import build_graph
from tests.executor.shop import Shop, graph, statuses, step, thread

Json = dict[str, Any]


def paid(step_id: str, amount: int, **more: Any) -> Json:
    back = {"tool": "mail", "args": {"to": "ann@x.com", "text": f"undo {step_id}: ${{result}}"}}
    return step(step_id, "pay", {"to": "ann@x.com", "amount": amount}, compensate=back, **more)


LOST = step("lost", "look", {"order": "A1"}, depends_on=["a", "b"])
PLAN: Json = {"goal": "pay twice", "steps": [paid("a", 1), paid("b", 2, depends_on=["a"]), LOST]}


async def run(shop: Shop, plan: Json = PLAN, **settings: Any) -> Json:
    shop.fails.add("look")
    result: Json = await graph(shop, compensate=True, **settings).ainvoke(
        {"goal": "g", "plan": plan}, thread()
    )
    return result


async def test_completed_writes_are_undone_in_reverse_order() -> None:
    shop = Shop()
    result = await run(shop)
    assert [each["text"] for each in shop.did("mail")] == ["undo b: paid 2.0", "undo a: paid 1.0"]
    assert result["status"] == "partial"
    assert "Undone: b, a." in result["answer"]
    assert result["plan"]["author"] == "undo"
    assert statuses(result)["a@undo"] == "succeeded"
    assert [effect["step"] for effect in result["effects"]] == ["a", "b", "b@undo", "a@undo"]


async def test_nothing_is_undone_without_the_setting() -> None:
    shop = Shop(fails={"look"})
    result = await graph(shop).ainvoke({"goal": "g", "plan": PLAN}, thread())
    assert result["status"] == "partial"
    assert shop.did("mail") == []


async def test_nothing_is_undone_when_the_run_succeeds() -> None:
    shop = Shop()
    result = await graph(shop, compensate=True).ainvoke({"goal": "g", "plan": PLAN}, thread())
    assert result["status"] == "succeeded"
    assert shop.did("mail") == []


async def test_what_cannot_be_undone_is_named_and_keeps_nothing_else_from_it() -> None:
    broken = step(
        "a",
        "pay",
        {"to": "x", "amount": 1},
        compensate={"tool": "mail", "args": {"to": "x", "text": "${result.no}"}},
    )
    shop = Shop()
    result = await run(shop, {**PLAN, "steps": [broken, paid("b", 2, depends_on=["a"]), LOST]})
    assert "a could not be undone" in result["reason"]
    assert [each["text"] for each in shop.did("mail")] == ["undo b: paid 2.0"]
    assert "Undone: b." in result["answer"]


async def test_what_would_still_have_run_does_not_run_any_more() -> None:
    shop = Shop()
    late = step("late", "mail", {"to": "x", "text": "late"}, depends_on=["lost"])
    result = await run(shop, {**PLAN, "steps": [*PLAN["steps"], late]})
    assert statuses(result)["late"] == "cancelled"
    assert "late" not in str(shop.did("mail"))


async def test_a_spent_budget_does_not_keep_a_run_from_being_undone() -> None:
    shop = Shop()
    result = await run(shop, max_tool_calls=2)
    assert result["status"] == "partial"
    assert "tool calls" in result["reason"]
    assert [each["text"] for each in shop.did("mail")] == ["undo b: paid 2.0", "undo a: paid 1.0"]


async def test_undoing_asks_a_person_where_its_tool_must_be_approved() -> None:
    shop = Shop(fails={"look"})
    built = graph(shop, compensate=True, approve_at="low")
    result = await built.ainvoke({"goal": "g", "plan": PLAN}, thread())
    for _ in range(2):
        result = await built.ainvoke(Command(resume={"decision": "approve"}), thread())
    assert [each["step"] for each in result["pending"]] == ["b@undo"]
    assert shop.did("mail") == []
    rejected = {"decision": "reject", "reason": "the customer keeps it", "then": "skip"}
    result = await built.ainvoke(Command(resume=rejected), thread())
    assert [each["step"] for each in result["pending"]] == ["a@undo"]
    result = await built.ainvoke(Command(resume={"decision": "approve"}), thread())
    assert [each["text"] for each in shop.did("mail")] == ["undo a: paid 1.0"]
    assert result["status"] == "partial"
    assert "b could not be undone: rejected" in result["reason"]


async def test_a_run_that_a_person_stops_is_undone_and_still_says_that_it_was_stopped() -> None:
    shop = Shop()
    built = graph(shop, compensate=True)
    plan = {
        "goal": "g",
        "steps": [
            paid("a", 1),
            step("b", "mail", {"to": "x", "text": "t"}, depends_on=["a"], require_approval=True),
        ],
    }
    await built.ainvoke({"goal": "g", "plan": plan}, thread())
    result = await built.ainvoke(
        Command(resume={"decision": "reject", "reason": "no", "then": "stop"}), thread()
    )
    assert result["status"] == "rejected"
    assert [each["text"] for each in shop.did("mail")] == ["undo a: paid 1.0"]


@pytest.mark.parametrize("step_id", ["a@undo", "x@undo"])
async def test_ids_of_undoing_steps_are_kept_for_them(step_id: str) -> None:
    with pytest.raises(Exception, match="choose another id"):
        await graph(Shop()).ainvoke(
            {"goal": "g", "plan": {"goal": "g", "steps": [paid(step_id, 1)]}}, thread()
        )


async def test_undoing_goes_on_where_it_was_when_the_process_ended(tmp_path: Path) -> None:
    shop = Shop(fails={"look"})
    with open_store(tmp_path / "runs.db") as opened:
        stores: dict[str, Any] = {"checkpointer": opened.checkpointer, "store": opened.store}
        settings = {"compensate": True, "scheduling": "layered"}
        first = build_graph(tools=shop.tools(), settings=settings, interrupt_before=["scheduler"], **stores)
        given: Any = {"goal": "g", "plan": PLAN}
        while not shop.did("mail"):
            await first.ainvoke(given, thread())
            given = None
        second = build_graph(tools=shop.tools(), settings=settings, **stores)
        result = await second.ainvoke(None, thread())
    assert [each["text"] for each in shop.did("mail")] == ["undo b: paid 2.0", "undo a: paid 1.0"]
    assert "Undone: b, a." in result["answer"]


async def test_a_map_is_undone_item_by_item() -> None:
    shop = Shop(fails={"look"})
    back = {"tool": "mail", "args": {"to": "${item}", "text": "undo ${index}: ${result}"}}
    inner = {"action": "tool", "tool": "pay", "args": {"to": "${item}", "amount": 1}, "compensate": back}
    plan = {
        "goal": "g",
        "steps": [
            {"id": "m", "action": "map", "over": ["ann@x.com", "bob@x.com"], "step": inner},
            step("lost", "look", {"order": "A1"}, depends_on=["m"]),
        ],
    }
    result = await graph(shop, compensate=True).ainvoke({"goal": "g", "plan": plan}, thread())
    assert sorted((each["to"], each["text"]) for each in shop.did("mail")) == [
        ("ann@x.com", "undo 0: paid 1.0"),
        ("bob@x.com", "undo 1: paid 1.0"),
    ]
    assert "Undone: m." in result["answer"]


BACK = {"tool": "mail", "args": {"to": "ann@x.com", "text": "undo ${result}"}}


@pytest.mark.parametrize("step_id", ["a'\"b", "a\\b", "步骤 1", "n" * 200])
async def test_a_step_that_no_expression_can_name_is_undone(step_id: str) -> None:
    shop = Shop()
    await run(shop, {"goal": "g", "steps": [paid(step_id, 1), {**LOST, "depends_on": [step_id]}]})
    assert [each["text"] for each in shop.did("mail")] == [f"undo {step_id}: paid 1.0"]


async def test_what_undoes_an_unexpected_write_may_name_other_values_too() -> None:
    shop = Shop()
    back = {"tool": "mail", "args": {"to": "ann@x.com", "text": "${result} ${params.k} ${first}"}}
    first = step("first", "read", {"page": "1"})
    unexpected = step(
        "a",
        "pay",
        {"to": "ann@x.com", "amount": 1},
        expect="result == 'paid'",
        compensate=back,
        depends_on=["first"],
    )
    await run(shop, {"goal": "g", "params": {"k": "${x}"}, "steps": [first, unexpected]})
    (sent,) = shop.did("mail")
    assert sent["text"].startswith("paid 1.0 ${x} The refund")


@pytest.mark.parametrize("fallback", ["read", "mail"])
async def test_what_a_fallback_did_is_not_undone_as_if_the_step_had_done_it(fallback: str) -> None:
    args = {"page": "1"} if fallback == "read" else {"to": "ann@x.com", "text": "sorry"}
    shop = Shop(fails={"pay"})
    step_a = step(
        "a",
        "pay",
        {"to": "ann@x.com", "amount": 1},
        fallback={"tool": fallback, "args": args},
        compensate=BACK,
    )
    result = await run(shop, {"goal": "g", "steps": [step_a, {**LOST, "depends_on": ["a"]}]})
    assert statuses(result)["a"] == "succeeded"
    assert "a@undo" not in statuses(result)
    assert [each["text"] for each in shop.did("mail") if "undo" in each["text"]] == []


@pytest.mark.parametrize(("text", "sent"), [("undo a", ["undo a"]), ("undo ${result}", [])])
async def test_a_write_that_its_fallback_followed_is_undone_without_the_fallbacks_result(
    text: str, sent: list[str]
) -> None:
    shop = Shop()
    step_a = step(
        "a",
        "pay",
        {"to": "ann@x.com", "amount": 1},
        expect="result == 'paid'",
        fallback={"tool": "read", "args": {"page": "1"}},
        compensate={"tool": "mail", "args": {"to": "ann@x.com", "text": text}},
    )
    result = await run(shop, {"goal": "g", "steps": [step_a, {**LOST, "depends_on": ["a"]}]})
    assert [each["text"] for each in shop.did("mail")] == sent
    assert ("a could not be undone" in result["reason"]) is (not sent)


async def test_a_write_is_undone_whose_fallback_waited_for_a_person_when_another_stopped_the_run() -> None:
    shop = Shop()
    step_a = paid("a", 1, expect="result == 'paid'", require_approval=True)
    other = {"tool": "read", "args": {"page": "1"}}
    back = {"tool": "mail", "args": {"to": "ann@x.com", "text": "undo a"}}
    asks = step("b", "read", {"page": "2"}, require_approval=True)
    plan = {"goal": "g", "steps": [{**step_a, "fallback": other, "compensate": back}, asks]}
    built = graph(shop, compensate=True)
    await built.ainvoke({"goal": "g", "plan": plan}, thread())
    waiting = await built.ainvoke(Command(resume={"a": "approve"}), thread())
    assert [(each["step"], each["tool"]) for each in waiting["pending"]] == [("a", "read"), ("b", "read")]
    stop = {"decision": "reject", "reason": "no", "then": "stop"}
    result = await built.ainvoke(Command(resume={"b": stop}), thread())
    assert [each["text"] for each in shop.did("mail")] == ["undo a"]
    assert statuses(result)["a@undo"] == "succeeded"


def _payments(*names: str, **more: Any) -> Json:
    back = {"tool": "mail", "args": {"to": "${item}", "text": "undo ${result}"}}
    inner = {"action": "tool", "tool": "pay", "args": {"to": "${item}", "amount": 1}, "compensate": back}
    return {"id": "m", "action": "map", "over": list(names), "step": {**inner, **more}}


async def test_items_of_a_map_that_a_spent_budget_stopped_are_undone() -> None:
    shop = Shop()
    plan = {"goal": "g", "steps": [_payments("ann@x.com", "bob@x.com", "cy@x.com")]}
    result = await run(shop, plan, max_tool_calls=2, max_concurrency=1)
    assert [each["to"] for each in shop.did("mail")] == ["bob@x.com", "ann@x.com"]
    assert "Undone: m." in result["answer"]


async def test_items_whose_write_gave_the_unexpected_are_undone_and_those_of_fallbacks_are_not() -> None:
    shop = Shop()
    other = {"tool": "read", "args": {"page": "1"}}
    bad = {"amount": "${item == 'bob@x.com' ? 'none' : 1}", "to": "${item}"}
    unexpected = _payments("ann@x.com", "cy@x.com", expect="item == 'cy@x.com'")
    replaced = {**_payments("ann@x.com", "bob@x.com", args=bad, fallback=other), "id": "f"}
    await run(shop, {"goal": "g", "steps": [unexpected, {**replaced, "depends_on": []}]}, max_concurrency=1)
    assert sorted(each["to"] for each in shop.did("mail")) == ["ann@x.com", "ann@x.com", "cy@x.com"]


async def test_items_of_a_map_whose_fallback_took_over_are_undone() -> None:
    shop = Shop()
    made = _payments("ann@x.com", "bob@x.com", when="item == 'ann@x.com'")
    back = {"tool": "read", "args": {"page": "1"}}
    plan = {
        "goal": "g",
        "steps": [{**made, "min_success": 2, "fallback": back}, {**LOST, "depends_on": ["m"]}],
    }
    result = await run(shop, plan)
    assert [each["to"] for each in shop.did("mail")] == ["ann@x.com"]
    assert statuses(result)["m"] == "succeeded"
    assert "Undone: m." in result["answer"]


async def test_a_clock_that_is_set_back_does_not_turn_the_order_round() -> None:
    shop = Shop(fails={"look"})
    built = graph(shop, compensate=True)
    start, ticks = datetime(2026, 1, 1, tzinfo=UTC), count()
    built.engine = replace(built.engine, now=lambda: start - timedelta(seconds=next(ticks)))
    await built.ainvoke({"goal": "g", "plan": PLAN}, thread())
    assert [each["text"] for each in shop.did("mail")] == ["undo b: paid 2.0", "undo a: paid 1.0"]
