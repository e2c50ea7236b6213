"""Branches that are taken or not, and the steps where they meet again."""

import pytest

from graph.plan import PlanError
from tests.language.support import Desk, breaks, code, gives, row, statuses, step
from tests.support.models import says

ASK = {"id": "kind", "action": "llm", "instruction": "What is it?", "choices": ["refund", "question"]}


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
async def test_a_choice_routes_and_the_branches_join_again(desk: Desk, scheduling: str) -> None:
    desk.models, desk.settings = says("refund"), {"scheduling": scheduling}

    document = await desk.run(
        ASK,
        step("pay", "send", when="kind == 'refund'"),
        step("reply", "post", when="${kind == 'question'}"),
        step("log", "look", ["${pay.of}", "${reply.of}"]),
    )

    assert statuses(document) == {
        "kind": "succeeded",
        "pay": "succeeded",
        "reply": "not_taken",
        "log": "succeeded",
    }
    assert desk.office.calls == [("send", {"of": "pay"}), ("look", {"of": ["pay", None]})]
    assert (document["status"], document["reason"]) == ("succeeded", None)
    assert document["answer"] == '{"of": ["pay", null]}'
    assert [effect["step"] for effect in document["effects"]] == ["pay"]


async def test_what_only_branches_lead_to_that_were_not_taken_is_not_taken_either(desk: Desk) -> None:
    document = await desk.run(
        step("first", "look"),
        step("a", "send", when="first.of == 'second'"),
        step("b", "send", when="size(first.of) > 9"),
        step("after", "send", depends_on=["a", "b"], when="params.go"),
        step("last", "send", depends_on=["after"], on_dependency_failure="skip"),
        params={"go": True},
    )

    assert statuses(document) == {
        "first": "succeeded",
        **dict.fromkeys(["a", "b", "after", "last"], "not_taken"),
    }
    assert document["status"] == "succeeded"
    assert {key: entry.status.value for key, entry in (await desk.entries()).items()} == statuses(document)
    assert row(document, "a")["note"] == "first.of == 'second' is false"
    assert row(document, "last")["note"] == "no branch that it waits for was taken"


async def test_a_run_whose_steps_were_all_not_taken_has_succeeded_with_nothing(desk: Desk) -> None:
    document = await desk.run(step("only", "send", when="params.go"), params={"go": False})

    assert (document["status"], document["answer"], document["reason"]) == ("succeeded", None, None)


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("first.missing", "no key 'missing'"),
        ("first.of", "this is a text"),
        ("first.of + 1 > 2", "first.of + 1 > 2"),
    ],
)
async def test_a_condition_that_says_neither_fails_its_step(desk: Desk, when: str, why: str) -> None:
    document = await desk.run(step("first", "look"), step("then", "send", when=when, fallback="post"))

    assert code(document, "then") == "bad_condition"
    assert why in row(document, "then")["error"]["message"]
    assert desk.office.did("send") == desk.office.did("post") == []
    assert document["status"] == "partial"


async def test_a_condition_on_what_is_not_there_is_not_met(desk: Desk) -> None:
    desk.office.does["look:first"] = gives({"go": False})

    document = await desk.run(
        step("first", "look"),
        step("branch", "look", when="first.go"),
        step("other", "look", when="!first.go"),
        step("join", "send", depends_on=["other"], when="branch.of == 'x'"),
        step("instead", "send", depends_on=["other"], when="branch == null"),
    )

    assert statuses(document) == {
        **dict.fromkeys(["first", "other", "instead"], "succeeded"),
        **dict.fromkeys(["branch", "join"], "not_taken"),
    }


async def test_nobody_is_asked_about_a_step_that_is_not_taken(desk: Desk) -> None:
    desk.policies = {"send": {"risk": "high"}}

    waiting = await desk.run(
        step("first", "look"),
        step("no", "send", when="first.of == 'x'"),
        step("yes", "send", when="first.of == 'first'"),
    )

    assert waiting["status"] == "waiting"
    assert [question["step"] for question in waiting["pending"]] == ["yes"]
    assert statuses(waiting) == {"first": "succeeded", "no": "not_taken", "yes": "waiting"}

    document = await desk.resume({"yes": "approve"})

    assert document["status"] == "succeeded"
    assert desk.office.did("send") == ["yes"]


async def test_a_first_step_may_be_a_branch_and_nobody_is_asked_before_it_is_known(desk: Desk) -> None:
    document = await desk.run(
        step("buy", "send", when="params.limit > 10", require_approval=True), params={"limit": 5}
    )

    assert statuses(document) == {"buy": "not_taken"}


async def test_a_model_is_not_shown_what_was_not_taken(desk: Desk) -> None:
    desk.models = says("done")

    await desk.run(
        step("a", "look"),
        step("b", "look", when="a.of == 'x'"),
        {"id": "sum", "action": "llm", "instruction": "Sum up", "depends_on": ["a", "b"]},
    )

    assert 'from="a"' in desk.models.prompts[0]
    assert 'from="b"' not in desk.models.prompts[0]


async def test_a_branch_behind_a_loss_is_lost_as_any_step(desk: Desk) -> None:
    def lost() -> None:
        raise RuntimeError("boom")

    desk.office.does["look:first"] = lost
    document = await desk.run(
        step("first", "look"),
        step("then", "send", when="first.of == 'x'"),
        step("anyway", "send", when="first.of == 'x'", on_dependency_failure="degrade"),
    )

    assert statuses(document) == {"first": "failed", "then": "cancelled", "anyway": "not_taken"}
    assert "then did not run because first gave no result" in document["reason"]


async def test_a_check_of_the_plan_waits_until_a_write_is_known_to_come(desk: Desk) -> None:
    holds = {"reason": "nothing speaks against it", "valid": True, "broken_assumption": None}
    desk.models = {"validator": says(holds)}
    desk.office.does["ask"] = breaks()

    document = await desk.run(
        step("first", "look"),
        step("no", "send", when="first.of == 'x'"),
        step("yes", "send", when="first.of == 'first'"),
        step("then", "ask", depends_on=["yes"], fallback={"tool": "post", "args": {"of": "instead"}}),
    )

    assert document["status"] == "succeeded"
    told = [
        prompt.partition("about to be done: ")[2].splitlines()[0]
        for prompt in desk.models["validator"].prompts
    ]
    assert told == ['yes: tool send, send({"of": "yes"})', 'then: tool post, post({"of": "instead"})']


async def test_a_check_may_stop_a_fallback(desk: Desk) -> None:
    holds = {"reason": "fine", "valid": True, "broken_assumption": None}
    desk.models = {"validator": says({**holds, "valid": False, "broken_assumption": "it is safe"})}
    desk.office.does["ask"] = breaks()

    document = await desk.run(step("first", "look"), step("then", "ask", "${first.of}", fallback="post"))

    assert desk.office.did("post") == []
    assert "it is safe" in document["reason"]


@pytest.mark.parametrize("field", ["when", "expect"])
async def test_a_condition_that_asks_nothing_is_refused_with_a_remedy_for_conditions(
    desk: Desk, field: str
) -> None:
    with pytest.raises(PlanError, match="a condition asks something of a result or a param; leave it out"):
        await desk.run(step("first", "look", **{field: "false"}))
