"""Expectations and fallbacks: what a result must be, and what takes a failed step's place."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import outputs, plan, planner, replans, statuses, waiting_steps
from tests.acceptance4.support import Desk, Stored, by_id, code, llm, problems, put, run, say, step

BAD_LOOK = {"name": "x", "bad": ["x"]}


def test_a_lookup_is_tried_again_until_it_is_as_expected() -> None:
    desk = Desk()

    result = run(desk, plan(step("a", "grow", {"name": "n"}, expect="result >= 3", max_attempts=5)))

    assert outputs(result)["a"] == 3
    assert len(desk.calls_of("grow")) == 3


def test_a_lookup_that_never_is_as_expected_fails_so() -> None:
    desk = Desk()
    value = plan(step("a", "grow", {"name": "n"}, expect="result < 0", max_attempts=2), put("b", "${a}"))

    result = run(desk, value, max_replans=0)

    assert code(result, "a") == "unexpected_result"
    assert "result < 0" in by_id(result)["a"]["error"]["message"]
    assert len(desk.calls_of("grow")) == 2
    assert desk.effects == []


@pytest.mark.parametrize("expect", ["result.missing == 1", "result.x.y == 1", "result[5] == 1"])
def test_an_expectation_that_cannot_be_judged_is_not_met(expect: str) -> None:
    value = plan(step("a", "say", {"value": {"x": 1}}, expect=expect, max_attempts=1))

    result = run(Desk(), {**value, "params": {"p": 1}}, max_replans=0)

    assert statuses(result)["a"] == "failed"
    assert code(result, "a") == "unexpected_result"


def test_an_expectation_sees_results_and_params() -> None:
    value = plan(
        say("limit", 2), step("a", "say", {"value": 5}, expect="result > limit && result < params.top")
    )

    assert run(Desk(), {**value, "params": {"top": 9}})["status"] == "succeeded"


def test_a_write_is_never_repeated_for_its_result_and_stays_an_effect() -> None:
    desk = Desk()
    value = plan(put("a", "x", expect="result == 'else'"), say("b", "${a}"))

    result = run(desk, value, max_replans=0)

    assert desk.calls_of("put") == ["x"]
    assert statuses(result)["a"] == "failed"
    assert code(result, "a") == "unexpected_result"
    assert outputs(result)["a"] == "done x"
    assert [row["step"] for row in result["effects"]] == ["a"]
    assert statuses(result)["b"] != "succeeded"


def test_a_fallback_after_a_write_leaves_the_write_an_effect() -> None:
    desk = Desk()
    value = plan(put("a", "x", expect="result == 'else'", fallback={"tool": "say", "args": {"value": 1}}))

    result = run(desk, value, max_replans=0)

    assert desk.calls_of("put") == ["x"]
    assert [row["tool"] for row in result["effects"]] == ["put"]


def test_a_model_is_told_why_and_answers_again() -> None:
    model = planner("a long answer about kettles", "lamps")

    result = run(Desk(), plan(llm("a", "Name a thing.", expect="size(result) < 10")), model)

    assert outputs(result)["a"] == "lamps"
    assert "size(result) < 10" in model.prompts[1]


def test_a_model_that_never_does_is_asked_three_times_and_falls_back() -> None:
    model = planner("wrong")
    value = plan(
        llm(
            "a",
            "Name a thing.",
            expect="result == 'right'",
            fallback={"tool": "say", "args": {"value": "right"}},
        )
    )

    result = run(Desk(), value, model)

    assert len(model.prompts) == 3
    assert outputs(result)["a"] == "right"
    assert "say" in by_id(result)["a"]["note"]


def test_output_of_the_wrong_form_goes_back_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model = planner({"n": "many"}, {"n": 3})
    value = plan(llm("a", "How many?", output_schema=schema, expect="result.n > 2"), say("b", "${a.n}"))

    assert outputs(run(Desk(), value, model))["b"] == 3


@pytest.mark.parametrize(
    ("own", "called"),
    [
        (step("a", "look", BAD_LOOK), 1),
        (step("a", "wobble", {"name": "x", "times": 9}, max_attempts=3), 3),
        (step("a", "refuse", {"value": "x"}), 1),
    ],
)
def test_a_step_that_failed_for_good_is_replaced(own: dict[str, Any], called: int) -> None:
    desk = Desk()
    value = plan(
        {**own, "fallback": {"tool": "say", "args": {"value": {"from": "b"}}}}, put("after", "${a.from}")
    )

    result = run(desk, value)

    assert result["status"] == "succeeded"
    assert len(desk.calls_of(own["tool"])) == called
    assert desk.effects == ["b"]
    assert by_id(result)["a"]["error"] is None
    assert "fallback" in by_id(result)["a"]["note"]
    assert "say" in by_id(result)["a"]["note"]


def test_a_fallback_is_not_called_when_all_goes_well() -> None:
    desk = Desk()

    run(desk, plan(say("a", 1, fallback={"tool": "put", "args": {"value": "x"}})))

    assert desk.effects == []


def test_a_fallback_without_arguments_takes_those_of_the_step() -> None:
    desk = Desk()

    result = run(desk, plan(step("a", "refuse", {"value": "same"}, fallback={"tool": "put"})))

    assert result["status"] == "succeeded", result["reason"]
    assert desk.effects == ["same"]


def test_a_fallback_sees_other_steps_and_makes_what_it_names_a_dependency() -> None:
    value = plan(
        step("a", "look", BAD_LOOK, fallback={"tool": "say", "args": {"value": "${b}!"}}), say("b", "B")
    )

    assert outputs(run(Desk(), value))["a"] == "B!"


def test_a_fallback_that_fails_leaves_the_step_failed_with_both_reasons() -> None:
    value = plan(
        step("a", "look", BAD_LOOK, fallback={"tool": "refuse", "args": {"value": "fb"}}),
        put("after", "${a}"),
    )
    desk = Desk()

    result = run(desk, value, max_replans=0)

    assert statuses(result)["a"] == "failed"
    told = str(by_id(result)["a"])
    assert "there is no x" in told
    assert "fb may not be done" in told
    assert desk.effects == []


def test_a_write_in_doubt_never_falls_back(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db")

    waiting = stored.start(
        plan(step("a", "lose", {"value": "x"}, fallback={"tool": "put", "args": {"value": "again"}}))
    )

    assert waiting["status"] == "waiting"
    assert waiting_steps(waiting) == {"a"}
    assert desk.effects == []
    assert desk.calls_of("lose") == ["x"]


def test_a_rejected_step_never_falls_back(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", max_replans=0)
    stored.start(plan(put("a", "x", require_approval=True, fallback={"tool": "put", "args": {"value": "y"}})))

    done = stored.answer({"a": "reject"})

    assert statuses(done)["a"] == "rejected"
    assert desk.effects == []


def test_a_risky_fallback_is_shown_and_waits_and_its_own_approval_counts(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db")
    value = plan(
        say("who", "bo"),
        step(
            "a", "refuse", {"value": "own"}, risk="high",
            fallback={"tool": "put", "args": {"value": "to ${who}"}},
        ),
    )  # fmt: skip

    first = stored.start(value)
    assert desk.calls == [("say", "bo")]
    assert "own" in str(first["pending"])
    second = stored.answer({"a": "approve"})

    assert second["status"] == "waiting"
    assert second["pending"][0]["tool"] == "put"
    assert second["pending"][0]["args"] == {"value": "to bo"}
    assert desk.effects == []

    done = stored.answer({"a": "approve"})

    assert done["status"] == "succeeded", done
    assert desk.effects == ["to bo"]
    assert desk.calls_of("refuse") == ["own"]


def test_a_fallback_has_a_key_of_its_own_and_is_an_effect() -> None:
    desk = Desk()

    result = run(
        desk, plan(step("a", "refuse", {"value": "x"}, fallback={"tool": "put", "args": {"value": "x"}}))
    )

    assert [row["tool"] for row in result["effects"] if row["status"] == "succeeded"] == ["put"]
    assert result["effects"][-1]["idempotency_key"] == desk.keys[0]


def test_no_replan_is_asked_for_when_a_fallback_helped() -> None:
    model = planner({"cannot": "never asked"})

    result = run(
        Desk(), plan(step("a", "look", BAD_LOOK, fallback={"tool": "say", "args": {"value": 1}})), model
    )

    assert replans(result) == 0
    assert model.prompts == []


@pytest.mark.parametrize(
    ("fallback", "found"),
    [
        ({"tool": "nobody", "args": {}}, "unknown_tool"),
        ({"tool": "say", "args": {"wrong": 1}}, "bad_args"),
        ({"tool": "say", "args": {"value": "${nowhere}"}}, "unknown_reference"),
        ({"tool": "say", "args": {"value": "${after}"}}, "cycle"),
    ],
)
def test_a_fallback_is_checked_with_the_plan(fallback: dict[str, Any], found: str) -> None:
    assert found in problems(plan(say("a", 1, fallback=fallback), say("after", "${a}")))


def test_an_expectation_is_checked_with_the_plan() -> None:
    assert problems(plan(say("a", 1, expect="reslt == 1"))) == {"unknown_reference"}
    assert problems(plan(say("a", 1, expect="result ==="))) == {"bad_expression"}
