"""Another plan after a failure: what lists and branches did stays done, whatever form the new plan has."""

from typing import Any

import pytest

from tests.acceptance.support import outputs, plan, planner, replans, statuses
from tests.acceptance4.support import Desk, each, inner, put, run, say, step

ITEMS = ["a", "b", {"no": "text"}]
FAILS = each("m", ITEMS, inner("put", {"value": "${item + '!'}"}))
"""Does a! and b!; the third item has no value."""

BAD = step("bad", "look", {"name": "x", "bad": ["x"]}, depends_on=["a"])


def other(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"plan": {"steps": list(steps)}}


def again(over: Any) -> dict[str, Any]:
    return each("other", over, inner("put", {"value": "${item}"}))


@pytest.mark.parametrize(
    ("first", "second", "done"),
    [
        (FAILS, again(["a!", "b!"]), ["a!", "b!"]),
        (FAILS, again(["a!", "c!"]), ["a!", "b!", "c!"]),
        (FAILS, {**again(["b!", "c!"]), "id": "m"}, ["a!", "b!", "c!"]),
        (FAILS, put("z", "a!"), ["a!", "b!"]),
    ],
)
def test_what_a_list_has_done_is_not_done_again(
    first: dict[str, Any], second: dict[str, Any], done: list[str]
) -> None:
    desk = Desk()

    result = run(desk, plan(first), planner(other(second)), max_replans=1)

    assert sorted(desk.effects) == done
    assert sorted(desk.calls_of("put")) == done
    assert sorted(row["args"]["value"] for row in result["effects"]) == done


@pytest.mark.parametrize("second", [put("z", "x"), put("z", "${a.value}"), again(["x"])])
def test_what_a_step_has_done_is_not_done_again(second: dict[str, Any]) -> None:
    desk = Desk()
    value = plan(put("w", "x"), say("a", {"value": "x"}, depends_on=["w"]), BAD)

    result = run(desk, value, planner(other(second)), max_replans=1)

    assert desk.effects == ["x"]
    assert desk.calls_of("put") == ["x"]
    assert len(result["effects"]) == 1


def test_an_unexpected_result_of_an_item_is_still_an_effect_after_the_replan() -> None:
    desk = Desk()
    value = plan(each("m", ["a", "x"], inner("put", {"value": "${item}"}, expect="index != 1")))

    result = run(
        desk, value, planner(other(each("m", ["a"], inner("put", {"value": "${item}"})))), max_replans=1
    )

    assert result["status"] == "succeeded"
    assert sorted(desk.effects) == ["a", "x"]
    assert sorted(row["args"]["value"] for row in result["effects"]) == ["a", "x"]


def test_a_branch_that_was_not_taken_may_be_planned_again() -> None:
    desk = Desk()
    value = plan(say("a", 1), put("no", "no", when="a == 2"), BAD)

    result = run(desk, value, planner(other(put("no", "now yes"))), max_replans=1)

    assert result["status"] == "succeeded", result["reason"]
    assert desk.effects == ["now yes"]
    assert desk.calls_of("say") == ["1"]
    assert replans(result) == 1


def test_a_failed_fallback_is_not_called_again() -> None:
    desk = Desk()
    value = plan(
        step("s", "look", {"name": "x", "bad": ["x"]}, fallback={"tool": "refuse", "args": {"value": "f"}})
    )

    result = run(desk, value, planner(other(step("z", "refuse", {"value": "f"}))), max_replans=1)

    assert desk.calls_of("refuse") == ["f"]
    assert result["success"] is False


def test_a_finished_list_is_kept_whole() -> None:
    desk = Desk()
    value = plan(each("a", ["p", "q"], inner("put", {"value": "${item}"})), BAD)

    result = run(desk, value, planner(other(say("end", "${a.results}"))), max_replans=1)

    assert result["status"] == "succeeded", result["reason"]
    assert sorted(desk.calls_of("put")) == ["p", "q"]
    assert outputs(result)["end"] == ["done p", "done q"]
    assert statuses(result)["a"] == "succeeded"
