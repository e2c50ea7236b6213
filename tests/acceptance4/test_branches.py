"""Branches, choices and joins: what is not taken does nothing, asks nobody and loses nothing."""

from pathlib import Path

import pytest

from tests.acceptance.support import outputs, plan, planner, replans, statuses, waiting_steps
from tests.acceptance4.support import (
    Desk,
    Stored,
    by_id,
    code,
    each,
    inner,
    llm,
    part,
    problems,
    put,
    run,
    say,
    step,
)


@pytest.mark.parametrize(
    "spelled", ["order.total > 10", "${order.total > 10}", "order['total'] > params.limit"]
)
@pytest.mark.parametrize("total", [5, 50])
def test_a_condition_decides_in_either_spelling(spelled: str, total: int) -> None:
    desk = Desk()
    value = plan(say("order", {"total": total}), put("big", "big", when=spelled))

    result = run(desk, {**value, "params": {"limit": 10}})

    assert result["status"] == "succeeded"
    assert statuses(result)["big"] == ("succeeded" if total > 10 else "not_taken")
    assert desk.effects == (["big"] if total > 10 else [])


def test_what_was_not_taken_is_no_loss_and_no_part_of_the_answer() -> None:
    result = run(Desk(), plan(say("a", 1), put("b", "unwanted", when="a == 2"), say("c", "wanted ${a}")))

    assert result["status"] == "succeeded"
    assert result["success"] is True
    assert not result["reason"]
    assert "wanted 1" in result["answer"]
    assert "unwanted" not in result["answer"]
    assert result["effects"] == []
    assert replans(result) == 0


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
def test_chosen_branch_runs_whole_and_joins(scheduling: str) -> None:
    desk = Desk()
    value = plan(
        say("text", "where is my parcel?"),
        llm("kind", "Classify: ${text}", choices=["refund", "news", "other"]),
        put("refund", "refund", when="kind == 'refund'"),
        put("after_refund", "after ${refund}"),
        put("news", "news", when="kind == 'news'"),
        put("after_news", "after ${news}"),
        say("join", "refund=${after_refund} news=${after_news}"),
    )

    result = run(desk, value, planner("news"), scheduling=scheduling)

    assert result["status"] == "succeeded", result["reason"]
    assert statuses(result) == {
        "text": "succeeded",
        "kind": "succeeded",
        "refund": "not_taken",
        "after_refund": "not_taken",
        "news": "succeeded",
        "after_news": "succeeded",
        "join": "succeeded",
    }
    assert outputs(result)["join"] == "refund=null news=done after done news"
    assert desk.effects == ["news", "after done news"]


def test_an_answer_outside_the_choices_goes_back_twice_then_fails() -> None:
    model = planner("perhaps a refund", "hm")

    result = run(Desk(), plan(llm("kind", "Classify.", choices=["refund", "news"])), model, max_replans=0)

    assert statuses(result)["kind"] == "failed"
    assert len(model.prompts) == 3
    assert "refund" in model.prompts[0]
    assert result["success"] is False


def test_a_join_is_not_taken_only_where_no_dependency_was() -> None:
    result = run(
        Desk(),
        plan(
            say("a", 1),
            put("left", "l", when="a == 1"),
            put("right", "r", when="a == 2"),
            put("far", "f", when="a == 3"),
            say("one_side", "${left}|${right}"),
            say("no_side", "${far}|${right}"),
            say("chain", "${no_side}"),
            step("typed", "say", {"value": "${right}"}, depends_on=["left"]),
        ),
    )

    assert outputs(result)["one_side"] == "done l|null"
    assert outputs(result)["typed"] is None
    assert {name for name, status in statuses(result).items() if status == "not_taken"} == {
        "right", "far", "no_side", "chain",
    }  # fmt: skip


def test_conditions_of_a_condition_see_null_for_a_branch_not_taken() -> None:
    result = run(
        Desk(),
        plan(
            say("a", 1),
            say("b", "B", when="a == 2"),
            say("c", "C", when="b == null && a == 1"),
        ),
    )

    assert statuses(result)["c"] == "succeeded"


@pytest.mark.parametrize("condition", ["a + 1", "a == 1 ? 'yes' : 'no'", "a.missing > 1", "1 / (a - 1) > 0"])
def test_a_condition_without_an_answer_fails_and_does_nothing(condition: str) -> None:
    desk = Desk()
    value = plan(say("a", 1), put("b", "x", when=condition), put("c", "beside"))

    result = run(desk, value, max_replans=0)

    assert statuses(result)["b"] == "failed"
    assert code(result, "b") == "bad_condition"
    assert desk.effects == ["beside"]
    assert result["status"] == "partial"
    assert "b" in result["reason"]


def test_a_bad_condition_gets_no_fallback() -> None:
    desk = Desk()
    value = plan(say("a", 1), say("b", "x", when="a.nope", fallback={"tool": "put", "args": {"value": "fb"}}))

    result = run(desk, value, max_replans=0)

    assert code(result, "b") == "bad_condition"
    assert desk.effects == []


def test_nobody_is_asked_about_a_branch_that_is_not_taken(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db")
    value = plan(
        say("a", 1),
        put("no", "no", risk="high", require_approval=True, when="a == 2"),
        put("yes", "yes", risk="high", when="a == 1"),
        put("after", "${yes} ${no}"),
    )

    waiting = stored.start(value)

    assert waiting["status"] == "waiting"
    assert waiting_steps(waiting) == {"yes"}
    assert statuses(waiting)["no"] == "not_taken"
    assert desk.effects == []

    done = stored.answer({"yes": "approve"})

    assert done["status"] == "succeeded", done
    assert desk.effects == ["yes", "done yes null"]


def test_an_approval_never_given_is_enough_when_the_branch_is_not_taken() -> None:
    """No database either: nothing has to wait."""
    result = run(Desk(), plan(say("a", 1), put("no", "no", require_approval=True, when="a == 2")))

    assert result["status"] == "succeeded"


def test_no_model_is_asked_for_a_step_that_is_not_taken() -> None:
    model = planner("never")
    value = plan(
        say("a", 1),
        llm("words", "say something", when="a == 2"),
        {"id": "agent", "action": "agent", "instruction": "do", "tools": ["look"], "when": "a == 2"},
        part("part", "more", when="a == 2"),
        each("list", "${a.list}", inner("look", {"name": "${item}"}), when="a == 2"),
    )

    result = run(Desk(), value, model)

    assert result["status"] == "succeeded", result["reason"]
    assert model.prompts == []
    assert result["usage"]["model_calls"] == 0


def test_a_failed_dependency_still_counts_before_the_condition() -> None:
    desk = Desk()
    value = plan(
        step("bad", "look", {"name": "x", "bad": ["x"]}),
        put("aborts", "1", when="bad != null"),
        put("degrades", "2", when="bad == null", on_dependency_failure="degrade"),
        put("skips", "3", when="bad == null", on_dependency_failure="skip"),
    )

    result = run(desk, value, max_replans=0)

    assert statuses(result)["skips"] == "skipped"
    assert statuses(result)["degrades"] == "succeeded"
    assert desk.effects == ["2"]
    assert result["status"] == "partial"


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("size(", {"bad_expression"}),
        ("nowhere == 1", {"unknown_reference"}),
        ("result == 1", {"unknown_reference"}),
        ("item == 1", {"unknown_reference"}),
        ("a == 1", set()),
        ("${a == 1}", set()),
    ],
)
def test_conditions_are_checked_with_the_plan(condition: str, found: set[str]) -> None:
    assert problems(plan(say("a", 1), say("b", 2, when=condition))) == found


def test_a_chinese_branch() -> None:
    result = run(
        Desk(),
        plan(
            say("订单", {"状态": "延误"}),
            say("退款", "退", when="steps['订单']['状态'] == '延误'"),
            say("等待", "等", when="steps['订单']['状态'] == '正常'"),
            say("回复", "${steps['退款']}/${steps['等待']}"),
        ),
    )

    assert by_id(result)["回复"]["output"] == "退/null"
    assert statuses(result)["等待"] == "not_taken"
