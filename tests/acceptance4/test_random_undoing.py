"""Random plans that are given up: each write is undone once, what was built on it before it."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.acceptance.support import plan, step
from tests.acceptance4.support import Desk, each, inner, put, run

UNDO = {"tool": "put", "args": {"value": "undo ${result}"}}


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Writes on top of each other, some of them lists, some refused, and a step that fails at the end."""
    steps: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 6))):
        name = f"s{number}"
        names = [each["id"] for each in steps]
        deps = draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) if names else []
        common = {"depends_on": deps, "on_dependency_failure": draw(st.sampled_from(["degrade", "skip"]))}
        expect = {"expect": "result == 'else'"} if draw(st.integers(0, 3)) == 0 else {}
        if draw(st.integers(0, 3)) == 0:
            work = inner("put", {"value": f"{name}-${{item}}"}, compensate=UNDO, **expect)
            steps.append(each(name, list(range(draw(st.integers(0, 3)))), work, **common))
        else:
            tool = draw(st.sampled_from(["put", "put", "put", "refuse"]))
            steps.append(step(name, tool, {"value": name}, compensate=UNDO, **common, **expect))
    last = draw(st.lists(st.sampled_from([each["id"] for each in steps]), unique=True))
    failing = step(
        "bad", "look", {"name": "x", "bad": ["x"]}, depends_on=last, on_dependency_failure="degrade"
    )
    return [*steps, failing]


def _before(steps: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Which step had to end before which other, by all ways."""
    above: dict[str, set[str]] = {}
    for one in steps:
        above[one["id"]] = {*one["depends_on"], *(name for dep in one["depends_on"] for name in above[dep])}
    return {(early, late) for late, names in above.items() for early in names}


@settings(max_examples=40)
@given(steps=plans(), mode=st.sampled_from([("lanes", 8), ("lanes", 1), ("layered", 8)]))
def test_all_writes_are_undone_once_last_first(steps: list[dict[str, Any]], mode: tuple[str, int]) -> None:
    desk = Desk()
    chosen = {"scheduling": mode[0], "max_concurrency": mode[1], "max_replans": 0}

    result = run(desk, plan(*steps), compensate=True, **chosen)

    assert result["success"] is False
    done = [value for value in desk.effects if not value.startswith("undo")]
    undone = [value.removeprefix("undo done ") for value in desk.effects if value.startswith("undo")]
    assert Counter(undone) == Counter(done)
    assert max(map(desk.effects.index, done), default=-1) < len(done), (
        "nothing is done after the undoing began"
    )
    at = {value: place for place, value in enumerate(undone)}
    for early, late in _before(steps):
        for first in (value for value in at if value.split("-")[0] == early):
            for second in (value for value in at if value.split("-")[0] == late):
                assert at[second] < at[first], (first, second)


def test_undoing_knows_the_order_of_what_did_not_depend_on_each_other() -> None:
    """One place, so that the steps end one after the other."""
    desk = Desk()
    names = ["a", "b", "c", "d"]
    steps = [put(name, name, compensate=UNDO) for name in names]
    bad = step("bad", "look", {"name": "x", "bad": ["x"]}, depends_on=names)

    run(desk, plan(*steps, bad), compensate=True, max_replans=0, max_concurrency=1)

    done, undone = desk.effects[:4], desk.effects[4:]
    assert undone == [f"undo done {name}" for name in reversed(done)]
