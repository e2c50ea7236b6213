"""Maps over replans: what the items of a failed map have written is not written again."""

from pathlib import Path
from typing import Any

import pytest

from tests.map.support import Json, Runs, hard, mapped, row
from tests.support.models import says

ITEMS = [0, 1, 2, 3, 4, 5, 6]
"""Of these 0, 1, 2 and 4 are written before 3 is found missing: a window of two items is at work."""

DONE = [0, 1, 2, 4]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    found = Runs(tmp_path, settings={"max_concurrency": 1})
    found.shelf.behave = hard(3)
    return found


def _replanned(runs: Runs, *steps: Json) -> Json:
    runs.models = {"replanner": says({"steps": list(steps)})}
    return runs.start(mapped("m", ITEMS, "put_once", {"value": "${item}"}))


@pytest.mark.parametrize("step_id", ["m", "again"])
def test_a_new_map_takes_over_what_the_old_one_has_written(runs: Runs, step_id: str) -> None:
    new = mapped(step_id, ITEMS, "put_once", {"value": "${item}"}, min_success=6)
    document = _replanned(runs, new)

    assert document["status"] == "succeeded", document["reason"]
    assert document["replans"] == 1
    assert runs.shelf.puts == [*DONE, 5, 6]
    assert row(document, step_id)["output"]["results"] == ["<0>", "<1>", "<2>", None, "<4>", "<5>", "<6>"]
    assert sorted(effect["args"]["value"] for effect in document["effects"]) == [*DONE, 5, 6]


def test_one_done_write_answers_one_item(runs: Runs) -> None:
    new = mapped("again", [0, 0, 1], "put_once", {"value": "${item}"})
    document = _replanned(runs, new)
    assert document["status"] == "succeeded", document["reason"]
    assert runs.shelf.puts == [*DONE, 0]


def test_equal_items_of_one_map_are_all_written(runs: Runs) -> None:
    assert runs.start(mapped("m", [1, 1, 1], "put_once", {"value": "${item}"}))["status"] == "succeeded"
    assert runs.shelf.puts == [1, 1, 1]


def test_a_step_of_the_new_plan_may_not_repeat_an_item_either(runs: Runs) -> None:
    repeating: Any = {"id": "one", "action": "tool", "tool": "put_once", "args": {"value": 0}}
    document = _replanned(runs, repeating)
    assert document["status"] != "succeeded"
    assert runs.shelf.puts == DONE


REPEATED = {"id": "one", "action": "tool", "tool": "put_once", "args": {"value": 3}}


def test_a_step_of_the_new_plan_may_not_repeat_the_failed_call_of_an_item(runs: Runs) -> None:
    _replanned(runs, REPEATED)
    assert runs.shelf.calls["put_once 3"] == 1


@pytest.mark.parametrize(("tool", "lost"), [("read", {3}), ("put", set())])
def test_what_an_item_fell_back_from_and_to_may_not_be_called_again_once_it_failed(
    runs: Runs, tool: str, lost: set[int]
) -> None:
    other = {"tool": tool, "args": {"value": "${item + 10}"}}
    runs.shelf.behave = hard(3, 13) if lost else hard(3)
    again = {"id": "two", "action": "tool", "tool": tool, "args": {"value": 13}} if lost else REPEATED
    bad = {"id": "bad", "action": "tool", "tool": "read", "args": {"value": 3}, "depends_on": ["m"]}
    runs.models = {"replanner": says({"steps": [again]})}
    runs.start(mapped("m", [3], "put_once", {"value": "${item}"}, step={"fallback": other}), bad)
    assert runs.shelf.calls["put_once 3"] == 1
    assert runs.shelf.calls[f"{tool} 13"] == 1


def test_an_approved_map_shows_only_the_calls_that_are_left(runs: Runs) -> None:
    new = mapped("m", ITEMS, "put_once", {"value": "${item}"}, min_success=6, require_approval=True)
    waiting = _replanned(runs, new)
    assert [call["args"]["value"] for call in waiting["pending"][0]["args"]["all"]] == [3, 5, 6]
    assert runs.resume("approve")["status"] == "succeeded"
    assert runs.shelf.puts == [*DONE, 5, 6]


def test_what_agents_of_a_replaced_map_did_is_set_aside_with_it(tmp_path: Path) -> None:
    step = {"action": "agent", "instruction": "put away ${item} please", "tools": ["put_once"]}
    agents: Json = {"id": "m", "action": "map", "over": ["c"], "step": step}

    def act(prompt: str) -> Json:
        if "could not be finished" in prompt:
            return {"steps": [agents]}
        value = prompt.partition("put away ")[2].split()[0]
        tool = "no_such_tool" if value == "b" else "put_once"
        return (
            {"result": f"done {value}"}
            if f"<{value}>" in prompt
            else {"tool": tool, "args": {"value": value}}
        )

    settings = {"agent_method": "structured", "approve_at": "never", "max_agent_iterations": 2}
    runs = Runs(tmp_path, settings=settings, models={"default": says(act)})
    document = runs.start({**agents, "over": ["a", "b"]})
    assert document["replans"] == 1, document["reason"]
    assert document["status"] == "succeeded", document["reason"]
    assert row(document, "m")["output"]["results"] == ["done c"]
    assert [effect["step"] for effect in document["effects"]] == ["m@r1#0", "m#0"]
