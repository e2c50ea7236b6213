"""A part whose inside failed, was rejected or could not be paid for."""

from typing import Any

import pytest
from langgraph.types import Command

from tests.executor.shop import Shop, graph, statuses, step, thread
from tests.parts.support import LOOK_AND_MAIL, Json, part, plan, run
from tests.support.models import says

FAILS: Json = {"plan": {"steps": [step("a", "read", {"page": "1"}), step("b", "look", {"order": "${a}"})]}}


def broken() -> Shop:
    return Shop(fails={"look"})


def alone(*steps: Json, **more: Any) -> Json:
    return {"goal": "g", "steps": [{"id": "p", "action": "plan", "goal": "go", **more}, *steps]}


async def test_a_part_whose_inside_failed_fails_and_says_what_was_lost() -> None:
    document = await run(broken(), alone(), says(FAILS), max_replans=0)
    assert statuses(document) == {"p.a": "succeeded", "p.b": "failed", "p": "failed"}
    assert document["reason"].startswith("p failed: part_failed: p.b failed: broken: look is out of order")
    assert document["status"] == "partial"


async def test_what_waits_inside_a_failed_part_does_not_run() -> None:
    more = [*FAILS["plan"]["steps"], step("c", "read", {"page": "${b}"})]
    document = await run(broken(), alone(), says({"plan": {"steps": more}}), max_replans=0)
    assert statuses(document)["p.c"] == "cancelled"
    assert statuses(document)["p"] == "failed"


async def test_the_fallback_of_a_part_whose_inside_failed_takes_its_place() -> None:
    shop = broken()
    given = alone(
        step("last", "mail", {"to": "x", "text": "${p}"}), fallback={"tool": "read", "args": {"page": "2"}}
    )
    document = await run(shop, given, says(FAILS), max_replans=0)
    assert (document["status"], document["reason"]) == ("succeeded", None)
    assert shop.did("mail")[0]["text"].startswith("The refund of order A1")


@pytest.mark.parametrize(("policy", "ends"), [("degrade", "succeeded"), ("skip", "skipped")])
async def test_who_depends_on_a_failed_part_does_as_its_policy_says(policy: str, ends: str) -> None:
    last = step("last", "mail", {"to": "x", "text": "got ${p}"}, on_dependency_failure=policy)
    document = await run(broken(), alone(last), says(FAILS), max_replans=0)
    assert statuses(document)["last"] == ends


async def test_an_optional_part_whose_inside_failed_is_no_loss() -> None:
    model = says(FAILS)
    document = await run(
        broken(), alone(step("other", "read", {"page": "3"}), optional=True), model, max_replans=1
    )
    assert (document["status"], len(model.prompts)) == ("succeeded", 1)


async def test_a_part_within_a_part_hands_its_failure_up() -> None:
    inner = {"plan": {"steps": [{"id": "q", "action": "plan", "goal": "inner"}]}}
    document = await run(broken(), alone(), says(inner, FAILS), max_replans=0)
    assert statuses(document) == {
        "p.q.a": "succeeded", "p.q.b": "failed", "p.q": "failed", "p": "failed"
    }  # fmt: skip
    assert "p failed: part_failed: p.q failed: part_failed: p.q.b failed: broken" in document["reason"]


async def test_a_rejected_step_inside_a_part_asks_for_no_other_plan() -> None:
    model = says(LOOK_AND_MAIL)
    built = graph(Shop(), model, approve_at="low", max_replans=1)
    await built.ainvoke({"goal": "g", "plan": plan(part())}, thread())
    no = {"decision": "reject", "reason": "not so", "then": "skip"}
    document = await built.ainvoke(Command(resume=no), thread())
    assert (statuses(document)["p.b"], statuses(document)["p"]) == ("rejected", "cancelled")
    assert len(model.prompts) == 1


@pytest.mark.parametrize("budget", ["max_model_calls", "step_max_model_calls"])
async def test_a_spent_budget_leaves_a_part_unplanned_and_without_its_fallback(budget: str) -> None:
    shop = Shop()
    instead = {"tool": "mail", "args": {"to": "ann@x.com", "text": "sorry"}}
    document = await run(
        shop, plan(part(fallback=instead)), says(LOOK_AND_MAIL), **{"max_replans": 0, budget: 0}
    )
    assert document["status"] == "partial"
    assert budget in document["reason"]
    assert shop.did("mail") == []
    assert statuses(document)["p"] == ("cancelled" if budget == "max_model_calls" else "failed")
