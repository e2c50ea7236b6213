"""Undoing: in reverse order, once, only where the setting says so, and itself written down."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import by_id, plan, planner, statuses
from tests.acceptance4.support import Desk, Stored, each, inner, problems, put, run, say, step

BAD = step("bad", "look", {"name": "x", "bad": ["x"]})


def done_and_undone(name: str, **more: Any) -> dict[str, Any]:
    """A step that does something and says how it is undone, by what it gave."""
    return put(name, name, compensate={"tool": "put", "args": {"value": "undo ${result}"}}, **more)


CHAIN = plan(
    done_and_undone("a"),
    done_and_undone("b", depends_on=["a"]),
    put("plain", "plain", depends_on=["b"]),
    done_and_undone("c", depends_on=["plain"]),
    {**BAD, "depends_on": ["c"]},
    done_and_undone("never", depends_on=["bad"]),
)
UNDONE = ["a", "b", "plain", "c", "undo done c", "undo done b", "undo done a"]


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
def test_undone_in_reverse_order_when_given_up(scheduling: str) -> None:
    desk = Desk()

    result = run(desk, CHAIN, compensate=True, max_replans=0, scheduling=scheduling)

    assert desk.effects == UNDONE
    assert result["success"] is False
    assert result["status"] in {"partial", "failed"}
    assert {name for name in statuses(result) if name.endswith("@undo")} == {"a@undo", "b@undo", "c@undo"}
    assert {by_id(result)[f"{name}@undo"]["status"] for name in "abc"} == {"succeeded"}
    assert "there is no x" in result["reason"]
    assert len(result["effects"]) == 7
    assert result["plan"]["revision"] == 2


def test_nothing_is_undone_without_the_setting() -> None:
    desk = Desk()

    result = run(desk, CHAIN, max_replans=0)

    assert desk.effects == ["a", "b", "plain", "c"]
    assert not [name for name in statuses(result) if name.endswith("@undo")]


def test_nothing_is_undone_when_all_goes_well_or_another_plan_helps() -> None:
    desk = Desk()
    model = planner({"plan": {"steps": [say("instead", "ok")]}})

    fine = run(desk, plan(done_and_undone("a")), compensate=True)
    helped = run(desk, plan(done_and_undone("b"), {**BAD, "depends_on": ["b"]}), model, compensate=True)

    assert fine["status"] == "succeeded"
    assert helped["success"] is True, helped["reason"]
    assert desk.effects == ["a", "b"]


def test_an_undo_that_fails_is_told_and_the_others_go_on() -> None:
    desk = Desk()
    value = plan(
        done_and_undone("a"),
        put("b", "b", depends_on=["a"], compensate={"tool": "refuse", "args": {"value": "undo b"}}),
        {**BAD, "depends_on": ["b"]},
    )

    result = run(desk, value, compensate=True, max_replans=0)

    assert desk.effects == ["a", "b", "undo done a"]
    assert by_id(result)["b@undo"]["status"] == "failed"
    assert "b@undo" in result["reason"] or "undo b" in result["reason"]


def test_a_risky_undo_waits_for_a_person(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", compensate=True, max_replans=0, approve_at="low")
    value = plan(done_and_undone("a"), {**BAD, "depends_on": ["a"]})

    stored.start(value)
    assert desk.calls == []
    waiting = stored.answer({"a": "approve"})

    assert waiting["status"] == "waiting"
    assert waiting["pending"][0]["args"] == {"value": "undo done a"}
    assert desk.effects == ["a"]

    done = stored.answer({"a@undo": "approve"})

    assert desk.effects == ["a", "undo done a"]
    assert done["success"] is False


def test_a_run_given_up_by_a_rejection_is_undone(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", compensate=True, max_replans=0)
    stored.start(plan(done_and_undone("a"), put("b", "b", require_approval=True, depends_on=["a"])))

    done = stored.answer({"b": {"decision": "reject", "then": "stop", "by": "ada", "reason": "no"}})

    assert done["success"] is False
    assert desk.effects == ["a", "undo done a"]


def test_what_did_not_happen_is_not_undone() -> None:
    desk = Desk()
    value = plan(
        say("s", 1),
        done_and_undone("not_taken", when="s == 2"),
        {**done_and_undone("refused"), "tool": "refuse", "args": {"value": "r"}},
    )

    run(desk, value, compensate=True, max_replans=0)

    assert desk.effects == []


def test_a_write_of_an_unexpected_result_happened_and_is_undone() -> None:
    desk = Desk()

    run(desk, plan(done_and_undone("a", expect="result == 'x'")), compensate=True, max_replans=0)

    assert desk.effects == ["a", "undo done a"]


UNDO = {"tool": "put", "args": {"value": "undo ${result}"}}


@pytest.mark.parametrize(
    "fallback", [{"tool": "say", "args": {"value": 1}}, {"tool": "put", "args": {"value": 1}}]
)
def test_what_a_fallback_did_is_not_undone_in_the_name_of_the_step(fallback: dict[str, Any]) -> None:
    desk = Desk()
    own = step("a", "refuse", {"value": "x"}, fallback=fallback, compensate=UNDO)

    run(desk, plan(own, {**BAD, "depends_on": ["a"]}), compensate=True, max_replans=0)

    assert not [value for value in desk.effects if str(value).startswith("undo")]


@pytest.mark.parametrize(
    "fails",
    [
        {"expect": "index == 0"},
        {"when": "index < 2 || item.size"},
        {"fallback": {"tool": "refuse", "args": {"value": "f"}}},
    ],
)
def test_what_items_have_done_is_undone_whatever_became_of_the_map(fails: dict[str, Any]) -> None:
    desk = Desk()
    value = plan(
        each("m", ["p", "q"], inner("put", {"value": "${item}"}, compensate=UNDO, **fails)),
        {**BAD, "depends_on": ["m"]},
    )

    run(desk, value, compensate=True, max_replans=0)

    done = [value for value in desk.effects if not value.startswith("undo")]
    assert sorted(desk.effects) == sorted([*done, *(f"undo done {value}" for value in done)])
    assert sorted(done) == ["p", "q"]


def test_items_are_undone_the_last_done_first() -> None:
    desk = Desk()
    value = plan(
        each(
            "a",
            ["p", "q", "r"],
            inner(
                "put",
                {"value": "${item}"},
                compensate={
                    "tool": "put",
                    "args": {"value": "undo ${item}"},
                },
            ),
        ),
        {**BAD, "depends_on": ["a"]},
    )

    run(desk, value, compensate=True, max_replans=0, max_concurrency=1)

    assert desk.effects == ["p", "q", "r", "undo r", "undo q", "undo p"]


def test_undoing_is_checked_with_the_plan() -> None:
    assert "unknown_tool" in problems(plan(put("a", 1, compensate={"tool": "nobody", "args": {}})))
    assert "bad_args" in problems(plan(put("a", 1, compensate={"tool": "put", "args": {"x": 1}})))
    assert "reserved_id" in problems(plan(put("a@undo", 1)))
