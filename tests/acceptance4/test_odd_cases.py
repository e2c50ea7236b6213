"""Odd names, big values, and limits in places where they are easily forgotten."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import outputs, plan, planner, statuses, waiting_steps
from tests.acceptance4.support import Desk, Stored, each, inner, llm, part, problems, put, run, say


@pytest.mark.parametrize("name", ["a/b", "a b", "步骤一", "a:b", "..", "a#b", "😀", "x" * 200, "1", "a.b"])
def test_any_visible_name_works_for_a_list(name: str) -> None:
    desk = Desk()
    named = f"steps[{json.dumps(name, ensure_ascii=False)}]"
    value = plan(each(name, ["q"], inner("put", {"value": "${item}"})), say("e", f"${{{named}.results[0]}}"))

    result = run(desk, value)

    assert result["status"] == "succeeded", result["reason"]
    assert outputs(result)["e"] == "done q"


@pytest.mark.parametrize("name", ["a\nb", "a@r1", "m#1", "a@undo", "a@fallback", "item", "result", ""])
def test_names_with_a_meaning_are_refused(name: str) -> None:
    assert problems(plan(each(name, ["q"], inner("say", {"value": 1}))))
    assert problems(plan(say(name, 1)))


def test_a_sub_step_does_not_take_a_name_that_is_there() -> None:
    desk = Desk()
    model = planner({"plan": {"steps": [say("x", 2)]}}, {"plan": {"steps": [say("y", 3)]}})

    result = run(desk, plan(say("p.x", 1), part("p", "go"), say("e", "${p}")), model)

    assert outputs(result)["p.x"] == 1
    assert outputs(result)["e"] == 3


def test_names_in_chinese_inside_a_part() -> None:
    model = planner({"plan": {"steps": [say("步 骤", "好")]}})

    result = run(Desk(), plan(part("部分", "做"), say("e", "${steps['部分']}")), model)

    assert outputs(result)["e"] == "好"
    assert statuses(result)["部分.步 骤"] == "succeeded"


def test_a_list_of_big_results_goes_on(tmp_path: Path) -> None:
    stored = Stored(Desk(), tmp_path / "r.db")
    value = plan(
        each("m", [f"i{number}" for number in range(40)], inner("say", {"value": "${item + params.big}"})),
        say("one", "${m.results[39]}"),
        put("last", "${size(m.results)}", require_approval=True),
    )

    stored.start({**value, "params": {"big": "文" * 5000}})
    result = stored.answer({"last": "approve"})

    assert result["status"] == "succeeded"
    assert outputs(result)["one"] == "i39" + "文" * 5000
    assert outputs(result)["last"] == "done 40"


@pytest.mark.parametrize(
    "step",
    [each("s", [1, 2, 3, 4, 5], {"action": "llm", "instruction": "number ${item}"}), part("s", "go on")],
)
def test_model_calls_are_bounded_everywhere(step: dict[str, Any]) -> None:
    model = planner({"plan": {"steps": [llm(f"q{number}", "ask") for number in range(5)]}})

    result = run(Desk(), plan(step), model, max_model_calls=2, max_replans=0)

    assert len(model.prompts) == 2
    assert result["success"] is False
    assert "max_model_calls" in result["reason"]


def test_people_are_asked_about_the_items_that_are_taken_only(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db")
    value = plan(
        each("m", ["a", "b", "c"], inner("put", {"value": "${item}"}, when="item != 'b'", risk="high")),
        each("n", ["d"], inner("put", {"value": "${item}"}, when="item == 'x'", risk="high")),
    )

    waiting = stored.start(value)

    assert waiting_steps(waiting) == {"m"}
    shown = json.dumps(waiting["pending"])
    assert '"value": "a"' in shown
    assert '"value": "c"' in shown
    assert '"value": "b"' not in shown
    assert stored.answer({"m": "approve"})["status"] == "succeeded"
    assert sorted(desk.effects) == ["a", "c"]


def test_writes_of_items_in_doubt_are_decided_one_by_one(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", max_replans=0)
    value = plan(each("m", ["a", "b"], inner("lose", {"value": "${item}"})), say("n", "${m.results}"))

    first = stored.start(value)
    second = stored.answer({"m": {"decision": "happened", "by": "ada", "result": "A"}})
    third = stored.answer({"m": {"decision": "happened", "by": "ada", "result": "B"}})

    assert (first["status"], second["status"]) == ("waiting", "waiting")
    assert third["status"] == "succeeded", third
    assert outputs(third)["n"] == ["A", "B"]
    assert sorted(desk.calls_of("lose")) == ["a", "b"]


def test_a_join_may_name_what_a_branch_not_taken_would_have_had() -> None:
    value = plan(say("a", 1), say("b", {"x": 1}, when="a == 2"), say("d", "${b.x} ${a}"))

    assert outputs(run(Desk(), value))["d"] == "null 1"


def test_comprehensions_do_not_stand_inside_each_other() -> None:
    costly = "[1].all(x, [1].exists(y, y == x)) && a != null"

    assert problems(plan(say("a", [1]), say("b", 1, when=costly))) == {"expression_too_costly"}
    assert problems(plan(say("a", [1]), say("b", 1, when="a.exists(x, x == 1)"))) == set()
