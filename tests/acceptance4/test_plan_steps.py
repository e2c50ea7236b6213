"""Plans in plans: planned when reached, spliced in as a revision, under the same limits and approvals."""

from pathlib import Path

import pytest

from tests.acceptance.support import outputs, plan, planner, replans, statuses, waiting_steps
from tests.acceptance4.support import (
    Desk,
    Stored,
    by_id,
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


def sub(*steps: object) -> dict[str, object]:
    """What a planner says."""
    return {"plan": {"steps": list(steps)}}


def test_sub_steps_are_spliced_in_as_a_revision_and_give_the_result() -> None:
    model = planner(sub(say("look", "${order.name}"), put("tell", "tell ${look}")))
    desk = Desk()
    value = plan(
        say("order", {"name": "A1"}),
        part("care", "comfort the customer of ${order.name}", ["say", "put"]),
        put("after", "after ${care}"),
    )

    result = run(desk, value, model)

    assert result["status"] == "succeeded", result["reason"]
    assert result["plan"]["revision"] == 2
    assert {"care.look", "care.tell"} <= set(statuses(result))
    assert outputs(result)["care"] == "done tell A1"
    assert desk.effects == ["tell A1", "after done tell A1"]
    assert "comfort the customer of A1" in model.prompts[0]
    assert len(model.prompts) == 1
    spliced = next(each for each in result["plan"]["steps"] if each["id"] == "care")
    assert set(spliced["sub_steps"]) == {"care.look", "care.tell"}


def test_it_sees_what_it_depends_on_and_nothing_else() -> None:
    model = planner(sub(say("x", 1)))
    value = plan(
        say("seen", "visible-needle"),
        say("hidden", "secret-needle"),
        part("p", "go on", ["say"], depends_on=["seen"]),
        say("join", "${hidden} ${p}"),
    )

    result = run(Desk(), value, model)

    assert result["status"] == "succeeded", result["reason"]
    assert "visible-needle" in model.prompts[0]
    assert "secret-needle" not in model.prompts[0]


def test_only_its_own_tools_are_offered_and_allowed() -> None:
    desk = Desk()
    model = planner(sub(put("x", "not allowed")), sub(put("x", "not allowed")), {"cannot": "no tool"})

    result = run(desk, plan(part("p", "go on", ["look"])), model, max_replans=0)

    assert "look" in model.prompts[0]
    assert "refuse" not in model.prompts[0]
    assert desk.effects == []
    assert statuses(result)["p"] == "failed"
    assert result["success"] is False


def test_several_last_steps_give_an_object_by_name() -> None:
    model = planner(sub(say("one", 1), say("two", 2)))

    result = run(Desk(), plan(part("p", "count", ["say"]), say("sum", "${p.one + p.two}")), model)

    assert outputs(result)["p"] == {"one": 1, "two": 2}
    assert outputs(result)["sum"] == 3


def test_a_part_that_is_never_reached_is_never_planned() -> None:
    model = planner(sub(say("x", 1)))
    value = plan(
        step("bad", "look", {"name": "x", "bad": ["x"]}), part("p", "go on from ${bad.name}", ["say"])
    )

    result = run(Desk(), value, {"planner": model}, max_replans=0)

    assert model.prompts == []
    assert statuses(result)["p"] == "cancelled"


def test_deeper_than_allowed_is_refused() -> None:
    desk = Desk()
    model = planner(sub(part("inner", "deeper", ["say"])))

    result = run(desk, plan(part("p", "go on", ["say"])), model, max_plan_depth=1, max_replans=0)

    assert result["success"] is False
    assert desk.calls == []
    assert len(model.prompts) <= 3


def test_a_part_of_a_part_is_planned_in_its_turn() -> None:
    model = planner(sub(part("deep", "deeper", ["say"])), sub(say("x", "bottom")))

    result = run(Desk(), plan(part("p", "go on", ["say"])), model, max_plan_depth=2)

    assert result["status"] == "succeeded", result["reason"]
    assert {"p.deep", "p.deep.x"} <= set(statuses(result))
    assert outputs(result)["p"] == "bottom"


def test_sub_steps_count_among_the_steps_there_may_be() -> None:
    desk = Desk()
    model = planner(sub(*[say(f"s{number}", number) for number in range(6)]))

    result = run(desk, plan(say("a", 0), part("p", "go on", ["say"])), model, max_steps=5, max_replans=0)

    assert result["success"] is False
    assert desk.calls_of("say") == ["0"]


def test_a_faulty_plan_goes_back_with_its_problems() -> None:
    model = planner(sub(step("x", "say", {"wrong": 1})), sub(say("x", "mended")))

    result = run(Desk(), plan(part("p", "go on", ["say"])), model)

    assert outputs(result)["p"] == "mended"
    assert "wrong" in model.prompts[1]


def test_a_part_that_cannot_be_planned_fails_honestly_and_others_go_on() -> None:
    desk = Desk()
    model = planner({"cannot": "there is nothing to plan"})
    value = plan(part("p", "go on", ["say"]), put("after", "${p}"), put("beside", "beside"))

    result = run(desk, value, model, max_replans=0)

    assert result["status"] == "partial"
    assert statuses(result)["p"] == "failed"
    assert "there is nothing to plan" in result["reason"]
    assert desk.effects == ["beside"]


def test_a_risky_sub_step_waits_for_a_person_with_resolved_arguments(tmp_path: Path) -> None:
    desk = Desk()
    model = planner(sub(say("who", "bo"), put("tell", "to ${who}", risk="high")))
    stored = Stored(desk, tmp_path / "r.db", model)

    waiting = stored.start(plan(part("p", "go on"), say("after", "${p}")))

    assert waiting["status"] == "waiting"
    assert waiting_steps(waiting) == {"p.tell"}
    assert waiting["pending"][0]["args"] == {"value": "to bo"}
    assert desk.effects == []

    done = stored.answer({"p.tell": "approve"})

    assert done["status"] == "succeeded", done
    assert outputs(done)["after"] == "done to bo"
    assert len(model.prompts) == 1


def test_an_effect_that_failed_inside_is_replanned_around_what_is_done() -> None:
    desk = Desk()
    model = planner(
        sub(put("first", "first"), step("then", "look", {"name": "x", "bad": ["x"]}, depends_on=["first"])),
        sub(say("instead", "fine")),
        sub(say("instead", "fine")),
    )

    result = run(desk, plan(part("p", "go on"), say("after", "${p}")), model, max_replans=2)

    assert desk.effects == ["first"]
    assert desk.calls_of("look") == ["x"]
    assert replans(result) >= 1


def test_no_budget_for_planning_is_no_planning() -> None:
    model = planner("word", sub(say("x", 1)))
    value = plan(llm("a", "say a word"), part("p", "go on ${a}", ["say"]))

    result = run(Desk(), value, model, max_model_calls=1)

    assert len(model.prompts) == 1
    assert result["success"] is False
    assert "max_model_calls" in result["reason"]


def test_two_parts_at_one_time_do_not_lose_each_other() -> None:
    model = planner(sub(say("x", "mine")))
    value = plan(part("p", "go", ["say"]), part("q", "go", ["say"]), say("both", "${p} ${q}"))

    result = run(Desk(), value, model)

    assert result["status"] == "succeeded", result["reason"]
    assert outputs(result)["both"] == "mine mine"
    assert {"p.x", "q.x"} <= set(statuses(result))
    assert by_id(result)["p.x"]["idempotency_key"] != by_id(result)["q.x"]["idempotency_key"]


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
def test_a_part_with_branches_and_maps_inside(scheduling: str) -> None:
    desk = Desk()
    model = planner(
        sub(
            say("n", ["a", "b"]),
            each("m", "${n}", inner("put", {"value": "${item}"})),
            say("no", 1, when="n.size() == 5"),
            say("end", "${m.results} ${no}"),
        )
    )  # fmt: skip

    result = run(desk, plan(part("p", "go")), model, scheduling=scheduling)

    assert result["status"] == "succeeded", result["reason"]
    assert sorted(desk.effects) == ["a", "b"]
    assert statuses(result)["p.no"] == "not_taken"
    assert outputs(result)["p"] == '["done a","done b"] null'


def test_an_unknown_tool_in_its_list_is_a_problem_and_it_needs_a_model() -> None:
    assert "unknown_tool" in problems(plan(part("p", "go", ["nobody"])))
