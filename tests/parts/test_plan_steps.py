"""A `plan` step is planned when it is reached, and its sub-steps run as part of the whole plan."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from checkpoints import open_store
from graph.build import build_graph
from graph.plan import PlanError
from tests.executor.shop import Shop, entries, graph, statuses, step, thread
from tests.parts.support import LOOK_AND_MAIL, Json, part, plan, run
from tests.support.models import says


async def test_the_sub_steps_run_and_their_result_is_the_steps() -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    document = await run(shop, plan(part(), step("last", "mail", {"to": "ann@x.com", "text": "${p}"})), model)
    assert document["status"] == "succeeded", document["reason"]
    assert statuses(document) == dict.fromkeys(("first", "p.a", "p.b", "p", "last"), "succeeded")
    assert shop.did("mail") == [{"to": "ann@x.com", "text": "about A1"}, {"to": "ann@x.com", "text": "sent"}]
    assert document["plan"]["revision"] == 2
    assert document["plan"]["parent_revision"] == 1
    assert document["plan"]["assumptions"] == ["the customer has an address"]
    assert document["replans"] == 0
    assert len(model.prompts) == 1


async def test_the_planner_of_a_part_sees_its_goal_and_the_results_at_hand_and_no_others() -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    other = step("other", "read", {"page": "1"})
    document = await run(shop, plan(other, part(depends_on=["first"], tools=["look", "mail"])), model)
    assert document["status"] == "succeeded", document["reason"]
    assert "Plan only this part: tell the customer of order A1" in model.prompts[0]
    assert '<data from="first">' in model.prompts[0]
    assert '<data from="other">' not in model.prompts[0]
    assert "- mail(" in model.prompts[0]
    assert "- pay(" not in model.prompts[0]


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([step("a", "pay", {"to": "ann@x.com", "amount": 40})], "'pay' is no tool of this part"),
        ([step("a", "mail", {"to": "ann@x.com", "text": "${other}"})], "'other' is no step of this plan"),
        ([step("a", "mail", {"to": "ann@x.com"})], "bad_args in a"),
        ([step("a", "mail", {"to": "eve@x.com", "text": "x"})], "ungrounded_arg in a"),
    ],
)
async def test_a_part_that_reaches_too_far_goes_back_to_the_planner(steps: list[Json], why: str) -> None:
    shop, model = Shop(), says({"plan": {"steps": steps}}, LOOK_AND_MAIL)
    given = plan(step("other", "read", {"page": "1"}), part(tools=["look", "mail"]))
    document = await run(shop, given, model)
    assert document["status"] == "succeeded", document["reason"]
    assert why in model.prompts[1]
    assert shop.did("pay") == []


async def test_a_part_that_cannot_be_planned_fails_the_step_and_nothing_of_it_runs() -> None:
    shop, model = Shop(), says(*({"plan": {"steps": [step("a", tool)]}} for tool in ("fly", "swim", "dig")))
    document = await run(shop, plan(part()), model, max_replans=0)
    assert document["status"] == "partial"
    assert "p failed: not_planned: the planner model gave no plan that can run" in document["reason"]
    assert len(model.prompts) == 4  # three plans, and which tools are needed


@pytest.mark.parametrize(
    ("reply", "status", "output"),
    [({"answer": "nothing to do"}, "succeeded", "nothing to do"), ({"cannot": "no way"}, "failed", None)],
)
async def test_the_planner_may_answer_or_refuse(reply: Json, status: str, output: object) -> None:
    document = await run(Shop(), plan(part()), says(reply), max_replans=0)
    row = document["steps"][-1]
    assert (row["status"], row["output"]) == (status, output)
    assert document["plan"]["revision"] == 1


async def test_parts_side_by_side_each_get_their_steps() -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    document = await run(shop, plan(part("p"), part("步骤")), model)
    assert document["status"] == "succeeded", document["reason"]
    assert set(statuses(document)) == {"first", "p.a", "p.b", "p", "步骤.a", "步骤.b", "步骤"}
    assert document["plan"]["revision"] == 3


async def test_several_ends_are_a_result_by_name() -> None:
    two = {"plan": {"steps": [step("x", "read", {"page": "1"}), step("y", "read", {"page": "2"})]}}
    document = await run(Shop(), plan(part()), says(two))
    assert set(document["steps"][-1]["output"]) == {"x", "y"}


async def test_parts_inside_parts_end_at_the_limit_of_depth() -> None:
    inside = {"plan": {"steps": [{"id": "q", "action": "plan", "goal": "go on"}]}}
    shop, model = Shop(), says(inside, inside, inside, inside)
    document = await run(shop, plan(part()), model, max_replans=0)
    assert document["status"] == "partial"
    assert "too_deep" in model.prompts[2]
    assert statuses(document)["p.q"] == "failed"


async def test_a_part_within_a_part_runs() -> None:
    inside = {"plan": {"steps": [{"id": "q", "action": "plan", "goal": "go on with ${first.id}"}]}}
    shop, model = Shop(), says(inside, LOOK_AND_MAIL)
    document = await run(shop, plan(part()), model)
    assert document["status"] == "succeeded", document["reason"]
    assert set(statuses(document)) == {"first", "p.q.a", "p.q.b", "p.q", "p"}


async def test_a_write_of_a_part_is_approved_as_any_other(tmp_path: Path) -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    with open_store(tmp_path / "runs.db") as opened:
        built = build_graph(
            tools=shop.tools(),
            models=model,
            settings={"approve_at": "low"},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )
        waiting: Json = await built.ainvoke({"goal": "g", "plan": plan(part())}, thread())
    assert waiting["status"] == "waiting"
    assert [each["step"] for each in waiting["pending"]] == ["p.b"]
    assert shop.did("mail") == []


async def test_a_part_may_need_approval_before_it_is_planned_and_only_then() -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    built = graph(shop, model)
    given = plan(part(require_approval=True))
    waiting: Json = await built.ainvoke({"goal": "g", "plan": given}, thread())
    assert [each["args"]["goal"] for each in waiting["pending"]] == ["tell the customer of order A1"]
    assert model.prompts == []
    done: Json = await built.ainvoke(Command(resume={"decision": "approve"}), thread())
    assert done["status"] == "succeeded", done


async def test_a_failed_sub_step_asks_for_another_plan_that_keeps_what_is_done() -> None:
    shop = Shop(fails={"mail"})
    again = {"plan": {"steps": [step("c", "read", {"page": "${p.a}"})]}}
    model = says(
        LOOK_AND_MAIL, {"plan": {"steps": [step("c", "read", {"page": "${steps['p.a'].id}"})]}}, again
    )
    document = await run(shop, plan(part()), model)
    assert document["status"] == "succeeded", document["reason"]
    assert set(statuses(document)) == {"first", "p.a", "c"}
    assert len(shop.did("look")) == 2


async def test_a_plan_with_a_part_needs_a_planner_before_anything_runs() -> None:
    shop = Shop()
    with pytest.raises(PlanError, match="there is no planner model"):
        await graph(shop).ainvoke({"goal": "g", "plan": plan(part())}, thread())
    assert shop.calls == []


@pytest.mark.parametrize("stop", ["replanner", "scheduler"])
async def test_a_part_that_was_planned_before_the_process_ended_is_not_planned_again(
    tmp_path: Path, stop: str
) -> None:
    shop, model = Shop(), says(LOOK_AND_MAIL)
    with open_store(tmp_path / "runs.db") as opened:
        stores: dict[str, Any] = {"checkpointer": opened.checkpointer, "store": opened.store}
        first = build_graph(tools=shop.tools(), models=model, interrupt_before=[stop], **stores)
        given: Any = {"goal": "g", "plan": plan(part())}
        while "p" not in await entries(first) or (await entries(first))["p"].planned is None:
            await first.ainvoke(given, thread())
            given = None
        second = build_graph(tools=shop.tools(), models=says("never asked"), **stores)
        document = await second.ainvoke(None, thread())
    assert document["status"] == "succeeded", document["reason"]
    assert len(model.prompts) == 1
    assert len(shop.did("mail")) == 1
    assert (document["plan"]["revision"], len(document["plan"]["steps"])) == (2, 4)


async def test_a_part_without_steps_goes_back_and_never_goes_round_in_a_circle() -> None:
    empty: Json = {"plan": {"steps": []}}
    model = says(empty, empty, LOOK_AND_MAIL)
    document = await graph(Shop(), model).ainvoke(
        {"goal": "care for order A1", "plan": plan(part())}, {**thread(), "recursion_limit": 40}
    )
    assert document["status"] == "succeeded", document["reason"]
    assert "the plan has no steps" in model.prompts[1]
    assert document["plan"]["revision"] == 2


async def test_ids_that_grow_too_long_in_their_place_go_back() -> None:
    long: Json = {"plan": {"steps": [step("n" * 199, "look", {"order": "A1"})]}}
    model = says(long, LOOK_AND_MAIL)
    document = await run(Shop(), plan(part()), model)
    assert document["status"] == "succeeded", document["reason"]
    assert "has 201 characters, at most 200 are allowed" in model.prompts[1]


async def test_a_part_makes_no_one_doubt_what_people_wrote_around_it_but_what_its_planner_did() -> None:
    shop = Shop()
    invented = {"plan": {"steps": [step("a", "mail", {"to": "${'eve@' + first.id}", "text": "x"})]}}
    last = step("last", "mail", {"to": "${'bob@' + first.id}", "text": "by hand"}, depends_on=["p"])
    given = plan(part(), last)
    result = await run(shop, given, says(invented))
    assert [each["step"] for each in result["pending"]] == ["p.a"]
    assert "eve@A1" in result["pending"][0]["reason"]
    assert result["plan"]["author"] == "caller"
