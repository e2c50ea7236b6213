"""Arguments chosen when a step runs, and references healed, once each."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from graph.build import build_graph
from graph.plan import PlanError, ToolStep, check_plan, parse_plan
from tests.executor.shop import Shop, by_id, entries, error_of, given, graph, plan, statuses, step, thread
from tests.support.models import says
from tools import ToolRegistry, policy

LOOK = step("look", "look", {"order": "A1"})
PAY = step("pay", "pay", {"amount": "${look.total}"}, fill=["to"], depends_on=["look"])
FILLED = {"to": "ann@x.com"}


def problems(shop: Shop, *steps: Any) -> list[str]:
    read, faults = parse_plan(plan(*steps))
    assert read is not None, faults
    return [str(problem) for problem in check_plan(read, shop.tools())]


# ------------------------------------------------------------------------------------ the plan language


def test_an_argument_named_in_fill_may_be_absent(shop: Shop) -> None:
    assert problems(shop, LOOK, PAY) == []
    assert problems(shop, LOOK, {**PAY, "fill": []})[0].startswith("bad_args [pay]: pay.to")
    assert "there is no argument 'too'" in problems(shop, LOOK, {**PAY, "fill": ["to", "too"]})[0]


def test_fill_round_trips_and_what_is_given_is_not_open() -> None:
    read, _ = parse_plan(plan(LOOK, {**PAY, "fill": " to "}))
    assert read is not None
    filling = read.step("pay")
    assert isinstance(filling, ToolStep)
    assert (filling.fill, filling.open_args) == (("to",), ("to",))
    assert filling.to_json()["fill"] == ["to"]
    assert filling.model_copy(update={"args": {"to": "x"}}).open_args == ()


def test_a_plan_with_open_arguments_needs_a_model(shop: Shop) -> None:
    with pytest.raises(PlanError, match=r"no_model \[pay\]"):
        graph(shop).invoke(given(LOOK, PAY), thread())


# --------------------------------------------------------------------------------------------- filling


async def test_an_open_argument_is_chosen_from_the_results(shop: Shop) -> None:
    model = says(FILLED)
    built = graph(shop, model)

    result = await built.ainvoke(given(LOOK, PAY), thread())

    assert statuses(result)["pay"] == "succeeded"
    assert shop.did("pay") == [{"to": "ann@x.com", "amount": 40, "note": ""}]
    assert len(model.prompts) == 1
    assert "ann@x.com" in model.prompts[0]
    entry = (await entries(built))["pay"]
    assert (entry.filled, entry.note, entry.model_calls) == (FILLED, "filled in to", 1)


async def test_the_prompt_holds_the_step_the_goal_and_its_dependencies_only(shop: Shop) -> None:
    model = says(FILLED)
    beside = step("beside", "read", {"page": "p"})

    await graph(shop, model).ainvoke(given(LOOK, beside, PAY), thread())

    assert "refund order A1" in model.prompts[0]
    assert "The refund of order" not in model.prompts[0]


async def test_a_made_up_value_goes_back_and_never_reaches_the_tool(shop: Shop) -> None:
    model = says({"to": "eve@x.com"}, FILLED)

    result = await graph(shop, model).ainvoke(given(LOOK, PAY), thread())

    assert statuses(result)["pay"] == "succeeded"
    assert [call["to"] for call in shop.did("pay")] == ["ann@x.com"]
    assert "neither in a result nor in the task" in model.prompts[1]


async def test_a_model_that_insists_fails_the_step(shop: Shop) -> None:
    model = says({"to": "eve@x.com"})

    result = await graph(shop, model, max_replans=0).ainvoke(given(LOOK, PAY), thread())

    assert shop.did("pay") == []
    assert by_id(result)["pay"]["error"]["kind"] == "redo"
    assert "to could not be filled in: 'eve@x.com'" in error_of(result, "pay")
    assert len(model.prompts) == 3


async def test_filled_arguments_are_held_to_the_tools_schema(shop: Shop) -> None:
    model = says({"amount": "much"}, {"amount": 40})
    paying = step("pay", "pay", {"to": "${look.customer.email}"}, fill=["amount"])

    await graph(shop, model).ainvoke(given(LOOK, paying), thread())

    assert [call["amount"] for call in shop.did("pay")] == [40]


async def test_what_is_done_is_not_filled_in_again(shop: Shop) -> None:
    model = says(FILLED)
    again = {**PAY, "id": "again", "depends_on": ["look", "pay"]}

    result = await graph(shop, model, max_replans=0).ainvoke(given(LOOK, PAY, again), thread())

    assert len(shop.did("pay")) == 1
    assert "already done" in error_of(result, "again")


async def test_a_person_is_shown_the_filled_arguments_and_they_are_asked_once(shop: Shop) -> None:
    model = says(FILLED)
    built = graph(shop, model)
    risky = {**PAY, "require_approval": True}

    waiting = await built.ainvoke(given(LOOK, risky), thread())
    assert waiting["pending"][0]["args"] == {"to": "ann@x.com", "amount": 40}

    result = await built.ainvoke(Command(resume="approve"), thread())
    assert result["status"] == "succeeded"
    assert len(model.prompts) == 1


async def test_a_persons_edit_overrides_what_was_filled_in(shop: Shop) -> None:
    built = graph(shop, says(FILLED))
    await built.ainvoke(given(LOOK, {**PAY, "require_approval": True}), thread())

    answer = {"decision": "edit", "args": {"to": "bob@y.com"}}
    result = await built.ainvoke(Command(resume=answer), thread())

    assert result["status"] == "succeeded"
    assert [call["to"] for call in shop.did("pay")] == ["bob@y.com"]


# --------------------------------------------------------------------------------------------- healing


async def test_a_path_that_the_result_lacks_is_healed_once(shop: Shop) -> None:
    model = says({"r1": "look.customer.email"})
    built = graph(shop, model)
    mailing = step("mail", "mail", {"to": "${look.mail}", "text": "Dear ${look.customer.name}"})

    result = await built.ainvoke(given(LOOK, mailing), thread())

    assert statuses(result)["mail"] == "succeeded"
    assert shop.did("mail") == [{"to": "ann@x.com", "text": "Dear Ann"}]
    entry = (await entries(built))["mail"]
    assert entry.healed == {"look.mail": {"path": "look.customer.email"}}
    assert entry.note == "${look.mail} healed"


async def test_a_reference_into_text_is_healed_by_a_value_of_the_text(shop: Shop) -> None:
    model = says({"amount": 55}, {"amount": 40})
    paying = step("pay", "pay", {"to": "ann@x.com", "amount": "${read.refund}"})

    result = await graph(shop, model).ainvoke(given(step("read", "read", {"page": "p"}), paying), thread())

    assert result["status"] == "succeeded"
    assert [call["amount"] for call in shop.did("pay")] == [40]
    assert "The values to copy:\namount (${read.refund})" in model.prompts[0]
    assert "55 is in none of the results" in model.prompts[1]


@pytest.mark.parametrize("amount", ["${look.sum / 2}", "${look.customer / 2}"])
async def test_what_is_computed_is_never_healed_to_a_part_of_it(shop: Shop, amount: str) -> None:
    model = says({"r1": "look.total"}, {"amount": 40})
    paying = step("pay", "pay", {"to": "ann@x.com", "amount": amount})

    result = await graph(shop, model, max_replans=0).ainvoke(given(LOOK, paying), thread())

    assert statuses(result)["pay"] == "failed"
    assert (shop.did("pay"), model.prompts) == ([], [])


async def test_a_reference_that_means_nothing_fails_the_step(shop: Shop) -> None:
    model = says({"r1": None})
    mailing = step("mail", "mail", {"to": "${look.mail}", "text": "x"})

    result = await graph(shop, model, max_replans=0).ainvoke(given(LOOK, mailing), thread())

    assert error_of(result, "mail").startswith("unknown_reference: ${look.mail}: no key 'mail'")
    assert len(model.prompts) == 1


@pytest.mark.parametrize(
    ("args", "fill"),
    [
        ({"order_id": "${find.id}", "text": "${find[0].total}"}, []),
        ({"order_id": "${find}", "text": "${find[0].total}"}, []),
        ({"text": "${find[0].total}"}, ["order_id"]),
    ],
    ids=["a part of another name", "the whole result", "left open"],
)
async def test_what_can_be_meant_in_one_way_only_asks_no_model(args: Any, fill: list[str]) -> None:
    noted: list[tuple[str, str]] = []

    @policy(effect="read")
    async def find() -> list[dict[str, Any]]:
        """Find an order."""
        return [{"order_id": "A1", "total": 40, "status": "sent"}]

    @policy(effect="write", risk="low")
    async def note(order_id: str, text: str) -> str:
        """Note something about an order."""
        noted.append((order_id, text))
        return text

    model = says("nothing is asked")
    built = build_graph(
        tools=ToolRegistry.of(find, note), models=model, checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    noting = step("note", "note", args, fill=fill, depends_on=["find"])
    result = await built.ainvoke(given(step("find", "find"), noting), thread())

    assert result["status"] == "succeeded", result["reason"]
    assert noted == [("A1", "40")]
    assert model.prompts == []
    entry = (await entries(built))["note"]
    assert entry.filled == ({"order_id": "A1"} if fill else None)
    assert bool(entry.healed) is not bool(fill)


async def test_healing_can_be_turned_off_and_needs_a_model(shop: Shop) -> None:
    mailing = step("mail", "mail", {"to": "${look.mail}", "text": "x"})
    model = says({"r1": "look.customer.email"})

    off = await graph(shop, model, heal_references=False, max_replans=0).ainvoke(
        given(LOOK, mailing), thread()
    )
    without = await graph(shop).ainvoke(given(LOOK, mailing), thread())

    assert error_of(off, "mail") == error_of(without, "mail")
    assert model.prompts == []


async def test_an_instruction_is_healed_too(shop: Shop) -> None:
    model = says({"r1": "look.customer.name"}, "Hello Ann")
    greeting = {"id": "greet", "action": "llm", "instruction": "Greet ${look.name}"}

    result = await graph(shop, model).ainvoke(given(LOOK, greeting), thread())

    assert by_id(result)["greet"]["output"] == "Hello Ann"
    assert "Greet Ann" in model.prompts[1]


def test_a_plan_with_open_arguments_is_read() -> None:
    assert parse_plan(plan(LOOK, PAY))[1] == ()
