"""A map is undone item by item: one at a time, the last done first, each whatever became of the others."""

from pathlib import Path

import pytest

from tests.map.support import Json, Runs, hard, mapped, row

ITEMS = [3, 1, 4, 5, 9, 2, 6]


def _undone(path: Path, at_once: int, *lost: str) -> tuple[Runs, Json]:
    settings = {"compensate": True, "max_replans": 0, "approve_at": "never", "max_concurrency": at_once}
    runs = Runs(path, settings=settings)
    runs.shelf.behave = hard("missing", *lost)
    undo = {"tool": "put_once", "args": {"value": "undo ${item}"}}
    bad = {"id": "bad", "action": "tool", "tool": "read", "args": {"value": "missing"}, "depends_on": ["m"]}
    step = {"compensate": undo}
    return runs, runs.start(mapped("m", ITEMS, "put_risky", {"value": "${item}"}, step=step), bad)


@pytest.mark.parametrize("at_once", [1, 8])
def test_items_are_undone_one_at_a_time_the_last_done_first(tmp_path: Path, at_once: int) -> None:
    runs, document = _undone(tmp_path, at_once)
    done = [effect["args"]["value"] for effect in document["effects"] if effect["step"] == "m"]
    assert sorted(done) == sorted(ITEMS)
    assert runs.shelf.puts == [*done, *(f"undo {value}" for value in reversed(done))]
    assert runs.shelf.most_at_once == 1  # of what undoes: the tool of the map itself does not count


def test_a_map_that_a_budget_stopped_is_undone_with_what_its_items_gave(tmp_path: Path) -> None:
    runs = Runs(tmp_path, settings={"compensate": True, "max_tool_calls": 2, "max_concurrency": 1})
    undo = {"tool": "put_once", "args": {"value": "undo ${result.results}"}}
    document = runs.start(mapped("m", [1, 2, 3], "put", {"value": "${item}"}, compensate=undo))
    assert runs.shelf.puts == [1, 2, 'undo ["<1>","<2>",null]']
    assert "Undone: m." in document["answer"]


def test_an_item_that_cannot_be_undone_keeps_no_other_from_it(tmp_path: Path) -> None:
    runs, document = _undone(tmp_path, 1, "undo 9")
    undone = [value for value in runs.shelf.puts if isinstance(value, str)]
    assert undone == [f"undo {value}" for value in (6, 2, 5, 4, 1, 3)]
    assert row(document, "m@undo")["status"] == "failed"
    assert "m could not be undone: too_few_succeeded: 1 of 7 items failed" in document["reason"]
