"""What a step did is undone also where another plan has dropped the step since."""

from typing import Any

import pytest

from tests.executor.shop import Shop, graph, statuses, step, thread
from tests.support.models import says

Json = dict[str, Any]
OTHER: Json = {"plan": {"steps": [step("lost", "look", {"order": "A1"})]}}


async def given_up(shop: Shop, first: Json) -> Json:
    """A plan of one step that fails, another plan that drops it and fails too."""
    shop.fails.add("look")
    built = graph(shop, says(OTHER), compensate=True, max_replans=1)
    plan = {"goal": "look at A1", "steps": [first]}
    result: Json = await built.ainvoke({"goal": "look at A1", "plan": plan}, thread())
    assert result["replans"] == 1
    return result


async def test_a_write_that_was_not_what_was_expected_is_undone() -> None:
    shop = Shop()
    back = {"tool": "mail", "args": {"to": "ann@x.com", "text": "undo ${result}"}}
    args = {"to": "ann@x.com", "amount": 1}
    result = await given_up(shop, step("a", "pay", args, expect="result == 'else'", compensate=back))
    assert [each["text"] for each in shop.did("mail")] == ["undo paid 1.0"]
    assert statuses(result)["a@r1@undo"] == "succeeded"


async def test_items_of_a_map_are_undone() -> None:
    shop = Shop()
    back = {"tool": "mail", "args": {"to": "${item}", "text": "undo ${result}"}}
    args = {"to": "${item}", "amount": "${index == 0 ? 1.0 : double('x')}"}
    inner = {"action": "tool", "tool": "pay", "args": args, "compensate": back}
    await given_up(shop, {"id": "m", "action": "map", "over": ["ann@x.com", "bob@x.com"], "step": inner})
    assert [each["to"] for each in shop.did("pay")] == ["ann@x.com"]
    assert shop.did("mail") == [{"to": "ann@x.com", "text": "undo paid 1.0"}]


GOAL = "pay 1 to ann, bob, bad, new0 and cy, and look at A1"


def _payments(*names: str) -> Json:
    back = {"tool": "mail", "args": {"to": "${item}", "text": "undo ${result}"}}
    args = {"to": "${item}", "amount": 1}
    inner = {"action": "tool", "tool": "pay", "args": args, "expect": "item != 'bad'", "compensate": back}
    return {"id": "m", "action": "map", "over": list(names), "step": inner}


@pytest.mark.parametrize("again", [1, 2])
async def test_what_a_later_map_has_taken_over_is_undone_once(again: int) -> None:
    shop = Shop(fails={"look"})
    ways = [{"plan": {"steps": [_payments("ann", f"new{n}", "bad")]}} for n in range(again - 1)]
    last = {"plan": {"steps": [_payments("ann", "cy"), step("lost", "look", {"order": "A1"})]}}
    built = graph(shop, says(*ways, last), compensate=True, max_replans=again, max_concurrency=1)
    plan = {"goal": GOAL, "steps": [_payments("ann", "bob", "bad")]}
    result: Json = await built.ainvoke({"goal": GOAL, "plan": plan}, thread())
    assert result["replans"] == again
    paid = [each["to"] for each in shop.did("pay")]
    assert paid.count("ann") == 1
    assert sorted(each["to"] for each in shop.did("mail")) == sorted(paid)


async def test_a_map_that_failed_on_the_way_is_undone_as_a_whole() -> None:
    shop = Shop()
    back = {
        "tool": "mail",
        "args": {"to": "ann@x.com", "text": "undo ${size(result.failures)} ${result.results[0]}"},
    }
    args = {"to": "${item}", "amount": "${index == 0 ? 1.0 : double('x')}"}
    inner = {"action": "tool", "tool": "pay", "args": args}
    steps = [{"id": "m", "action": "map", "over": ["ann@x.com", "b"], "step": inner, "compensate": back}]
    built = graph(shop, compensate=True)
    result = await built.ainvoke({"goal": "g", "plan": {"goal": "g", "steps": steps}}, thread())
    assert [each["text"] for each in shop.did("mail")] == ["undo 1 paid 1.0"]
    assert "Undone: m." in result["answer"]


async def test_a_write_of_a_fallback_stays_and_is_named() -> None:
    shop = Shop(fails={"look", "pay"})
    other = {"tool": "mail", "args": {"to": "ann@x.com", "text": "paid by hand"}}
    back = {"tool": "mail", "args": {"to": "ann@x.com", "text": "undo"}}
    first = step("a", "pay", {"to": "x", "amount": 1}, fallback=other, compensate=back)
    plan = {"goal": "g", "steps": [first, step("lost", "look", {"order": "A1"}, depends_on=["a"])]}
    result = await graph(shop, compensate=True).ainvoke({"goal": "g", "plan": plan}, thread())
    assert [each["text"] for each in shop.did("mail")] == ["paid by hand"]
    assert "a was done by its fallback mail, which nothing undoes" in result["reason"]
