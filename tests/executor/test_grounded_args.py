"""Ids, addresses and amounts have a source: made-up ones reach no tool, whatever the model says."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.types import Command

from graph.plan import Sources
from tests.executor.shop import CUSTOMER, Shop, error_of, graph, plan, statuses, step, thread
from tests.executor.shop import given as caller_gives
from tests.support.models import says

LOOK = step("look", "look", {"order": "A1"})
GOAL: Any = {"goal": "refund order A1 to ann@x.com"}
SOURCES = Sources(GOAL["goal"], CUSTOMER)


def pay(**args: Any) -> dict[str, Any]:
    return step("pay", "pay", {"to": "ann@x.com", "amount": "${look.total}", **args}, depends_on=["look"])


async def test_a_planner_is_sent_back_until_it_makes_nothing_up(shop: Shop) -> None:
    model = says(plan(LOOK, pay(to="eve@x.com")), plan(LOOK, pay(amount=39)), plan(LOOK, pay()))

    result = await graph(shop, model).ainvoke(GOAL, thread())

    assert result["status"] == "succeeded"
    assert [(call["to"], call["amount"]) for call in shop.did("pay")] == [("ann@x.com", 40)]
    assert "ungrounded_arg in pay: 'eve@x.com' as to" in model.prompts[1]
    assert "ungrounded_arg in pay: '39' as amount" in model.prompts[-1]


async def test_a_planner_that_insists_runs_nothing(shop: Shop) -> None:
    result = await graph(shop, says(plan(LOOK, pay(to="eve@x.com")))).ainvoke(GOAL, thread())

    assert result["status"] == "failed"
    assert "ungrounded_arg" in result["reason"]
    assert shop.calls == []


async def test_made_up_params_are_no_way_around(shop: Shop) -> None:
    params = {"to": "eve@x.com", "order": "A1"}
    sneaky = plan(LOOK, pay(to="${params.to}"), params=params)
    shop.fails.add("look")
    later = plan(pay(to="eve@x.com", amount=1))
    model = says(sneaky, plan(step("look", "look", {"order": "${params.order}"}), params=params), later)

    result = await graph(shop, model).ainvoke(GOAL, thread())

    assert "no param 'to'" in model.prompts[1]
    assert shop.did("look") == [{"order": "A1"}]
    assert shop.did("pay") == []
    assert result["status"] == "failed"


async def test_what_a_caller_wrote_is_theirs(shop: Shop) -> None:
    result = await graph(shop).ainvoke(caller_gives(LOOK, pay(to="eve@x.com", amount=3)), thread())

    assert result["status"] == "succeeded"


async def test_a_computed_amount_is_shown_to_a_person(shop: Shop) -> None:
    built = graph(shop, says(plan(LOOK, pay(amount="${look.total * 2}"))))

    waiting = await built.ainvoke(GOAL, thread())

    assert waiting["status"] == "waiting"
    assert waiting["pending"][0]["reason"] == (
        "amount is '80', which occurs in no input and no result of a tool"
    )
    done = await built.ainvoke(Command(resume="approve"), thread())
    assert done["status"] == "succeeded"
    assert [call["amount"] for call in shop.did("pay")] == [80]


async def test_arguments_that_do_not_fit_fail_without_a_question(shop: Shop) -> None:
    planned = plan(LOOK, {**pay(amount="${look.id}"), "require_approval": True})

    result = await graph(shop, says(planned), max_replans=0).ainvoke(GOAL, thread())

    assert error_of(result, "pay").startswith("bad_args: amount")


async def test_an_edited_amount_is_the_persons(shop: Shop) -> None:
    built = graph(shop, says(plan(LOOK, pay(amount="${look.total * 2}"))))
    await built.ainvoke(GOAL, thread())

    done = await built.ainvoke(Command(resume={"decision": "edit", "args": {"amount": 77}}), thread())

    assert done["status"] == "succeeded"
    assert [call["amount"] for call in shop.did("pay")] == [77]


async def test_nobody_to_ask_fails_the_step(shop: Shop) -> None:
    model = says(plan(LOOK, pay(to='${look.total > 0 ? "eve@x.com" : "ann@x.com"}')))

    result = await graph(shop, model, approve_at="never", max_replans=0).ainvoke(GOAL, thread())

    assert error_of(result, "pay").startswith("ungrounded_arg: to is 'eve@x.com'")
    assert shop.did("pay") == []


async def test_what_a_model_answered_in_between_needs_a_source_too(shop: Shop) -> None:
    asking = {"id": "ask", "action": "llm", "instruction": "Whose address?", "depends_on": ["look"]}
    planned = plan(LOOK, asking, pay(to="${ask}"))

    invented = await graph(shop, says(planned, "eve@x.com")).ainvoke(GOAL, thread("a"))
    found = await graph(shop, says(planned, "Ann@x.com")).ainvoke(GOAL, thread("b"))

    assert statuses(invented)["pay"] == "waiting"
    assert statuses(found)["pay"] == "succeeded"


async def test_filled_arguments_of_a_callers_plan_are_grounded_too(shop: Shop) -> None:
    filling = step("pay", "pay", {"amount": 1}, fill=["to"], depends_on=["look"])
    built = graph(shop, says({"to": "eve@x.com"}), max_replans=0)

    await built.ainvoke(caller_gives(LOOK, filling), thread())

    assert shop.did("pay") == []


ADDRESSES = st.sampled_from(
    ["ann@x.com", "eve@x.com", "${look.customer.email}", "${ask}", "x${look.id}@y.com"]
)
AMOUNTS = st.sampled_from([40, 41, "${look.total}", "${look.total + 1}", "${ask}", "40", 7.5])
ANSWERS = st.sampled_from(["ann@x.com", "eve@x.com", "40", "41", '{"to": "eve@x.com", "amount": 41}'])
CHOICES = st.fixed_dictionaries({"to": ADDRESSES, "amount": AMOUNTS})


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plans=st.lists(CHOICES, min_size=1, max_size=3),
    filled=st.sets(st.sampled_from(["to", "amount"])),
    said=ANSWERS,
)
async def test_no_made_up_value_reaches_a_grounded_argument(
    plans: list[dict[str, Any]], filled: set[str], said: str
) -> None:
    shop = Shop()
    asking = {"id": "ask", "action": "llm", "instruction": "?", "depends_on": ["look"]}
    made = [
        plan(
            LOOK,
            asking,
            step(
                "pay",
                "pay",
                {name: value for name, value in args.items() if name not in filled},
                fill=sorted(filled),
                depends_on=["look", "ask"],
            ),
        )
        for args in plans
    ]

    def line(prompt: str) -> Any:
        planning = "You plan work" in prompt
        return made.pop(0) if planning and len(made) > 1 else made[0] if planning else said

    result = await graph(shop, says(line)).ainvoke(GOAL, thread())

    assert result["status"] in {"succeeded", "partial", "failed", "waiting"}
    for call in shop.did("pay"):
        assert SOURCES.lacks([call["to"], call["amount"]]) == (), json.dumps(call)
