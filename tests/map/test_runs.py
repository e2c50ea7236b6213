"""Maps in whole runs: results in order, failures counted, caps kept, each item journaled by itself."""

from pathlib import Path
from typing import Any

import pytest

from tests.map.support import Runs, Shelf, hard, mapped, row, soft

LIST = {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": 5}}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_each_item_of_a_result_runs_the_step_and_results_keep_their_order(runs: Runs) -> None:
    document = runs.start(LIST, mapped("m", "${list}", "read", {"value": "${item.name} ${index}"}))

    assert document["status"] == "succeeded"
    assert row(document, "m")["output"] == {
        "results": [f"<第{n}个 {n}>" for n in range(5)],
        "failures": [],
    }
    assert row(document, "m")["items"] == {"total": 5, "succeeded": 5, "failed": 0, "not_taken": 0}
    assert document["reason"] is None


def test_a_map_goes_over_a_literal_list_and_later_steps_use_its_results(runs: Runs) -> None:
    document = runs.start(
        mapped("m", [1, 2, 3], "read", {"value": "${item * 2}"}),
        {"id": "last", "action": "tool", "tool": "read", "args": {"value": "${m.results[2]}"}},
    )
    assert row(document, "last")["output"] == "<<6>>"


def test_an_empty_list_succeeds_with_nothing(runs: Runs) -> None:
    document = runs.start(mapped("m", [], "put", {"value": "${item}"}))
    assert document["status"] == "succeeded"
    assert row(document, "m")["output"] == {"results": [], "failures": []}
    assert row(document, "m")["items"]["total"] == 0


@pytest.mark.parametrize(
    ("over", "code"), [("${list[0]}", "not_a_list"), ("${list}", "too_many_items")], ids=["object", "long"]
)
def test_what_is_no_list_or_too_long_fails_before_any_item_runs(runs: Runs, over: str, code: str) -> None:
    runs.settings = {"max_map_items": 4}
    document = runs.start(LIST, mapped("m", over, "put", {"value": "${index}"}))
    assert document["status"] == "partial"
    assert row(document, "m")["error"]["code"] == code
    assert runs.shelf.calls.total() == 0


def test_one_failure_fails_a_map_of_which_all_must_succeed_and_what_has_not_begun_stays_undone(
    runs: Runs,
) -> None:
    runs.shelf.behave = hard(2)
    runs.settings = {"max_concurrency": 1}
    document = runs.start(mapped("m", list(range(40)), "put", {"value": "${item}"}))

    assert document["status"] == "partial"
    error = row(document, "m")["error"]
    assert error["code"] == "too_few_succeeded"
    assert "1 of 40 items failed (#2 not_found: there is no 2)" in error["message"]
    assert "were not begun" in error["message"]
    assert len(runs.shelf.puts) < 5
    assert row(document, "m")["output"]["results"][:2] == ["<0>", "<1>"]
    assert "#2 not_found" in document["reason"]
    assert [effect["item"] for effect in document["effects"]] == sorted(runs.shelf.puts)


def test_with_min_success_failures_are_listed_and_the_map_succeeds(runs: Runs) -> None:
    runs.shelf.behave = hard(1, 3)
    document = runs.start(mapped("m", list(range(5)), "read", {"value": "${item}"}, min_success=0.6))

    assert document["status"] == "succeeded"
    output = row(document, "m")["output"]
    assert output["results"] == ["<0>", None, "<2>", None, "<4>"]
    assert [(each["index"], each["item"], each["code"]) for each in output["failures"]] == [
        (1, 1, "not_found"),
        (3, 3, "not_found"),
    ]
    assert row(document, "m")["items"] == {"total": 5, "succeeded": 3, "failed": 2, "not_taken": 0}
    assert "2 of 5 items failed" in document["reason"]


def test_soft_failures_are_retried_per_item(runs: Runs) -> None:
    runs.shelf.behave = soft(2, 0, 2)
    document = runs.start(mapped("m", [0, 1, 2], "read", {"value": "${item}"}))
    assert document["status"] == "succeeded"
    assert runs.shelf.calls == {"read 0": 3, "read 1": 1, "read 2": 3}


def test_max_attempts_of_a_map_is_that_of_each_item(runs: Runs) -> None:
    runs.shelf.behave = soft(2, 0)
    document = runs.start(mapped("m", [0, 1], "read", {"value": "${item}"}, max_attempts=2))
    assert row(document, "m")["error"]["code"] == "too_few_succeeded"
    assert runs.shelf.calls["read 0"] == 2


@pytest.mark.parametrize(("tool", "most"), [("read", 3), ("read_capped", 2)])
def test_items_share_the_caps_of_the_run_and_of_their_tool(runs: Runs, tool: str, most: int) -> None:
    runs.settings = {"max_concurrency": 3}
    runs.start(
        mapped("a", list(range(20)), tool, {"value": "${item}"}),
        mapped("b", list(range(20, 40)), tool, {"value": "${item}"}),
    )
    assert runs.shelf.calls.total() == 40
    assert runs.shelf.most_at_once == most


def test_no_more_items_wait_than_twice_the_places_there_are(runs: Runs, monkeypatch: Any) -> None:
    from nodes.lanes.admission import Admission

    waiting, most = 0, 0
    enter = Admission._enter

    async def counted(self: Admission, *args: Any) -> Any:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        try:
            return await enter(self, *args)
        finally:
            waiting -= 1

    monkeypatch.setattr(Admission, "_enter", counted)
    runs.settings = {"max_concurrency": 2}
    runs.start(mapped("m", list(range(300)), "read", {"value": "${item}"}))
    assert 1 < most <= 4


def test_every_item_has_a_key_of_its_own_even_for_equal_values(runs: Runs) -> None:
    document = runs.start(mapped("m", ["x", "x", "x"], "put", {"value": "${item}"}))
    assert runs.shelf.puts == ["x", "x", "x"]
    keys = {effect["idempotency_key"] for effect in document["effects"]}
    assert keys == set(runs.shelf.keys)
    assert len(keys) == 3


def test_layered_scheduling_gives_the_same(tmp_path: Path) -> None:
    documents = []
    for scheduling in ("lanes", "layered"):
        folder = tmp_path / scheduling
        folder.mkdir()
        runs = Runs(folder, Shelf(behave=hard(3)), settings={"scheduling": scheduling})
        documents.append(
            runs.start(LIST, mapped("m", "${list}", "read", {"value": "${index}"}, min_success=4))
        )
    assert row(documents[0], "m")["output"] == row(documents[1], "m")["output"]


def test_a_map_that_fails_is_skipped_or_degraded_as_any_step(runs: Runs) -> None:
    runs.shelf.behave = hard(0)
    document = runs.start(
        mapped("m", [0], "read", {"value": "${item}"}, optional=True),
        {
            "id": "next", "action": "tool", "tool": "read", "args": {"value": "${m.results}"},
            "on_dependency_failure": "degrade",
        },
    )  # fmt: skip
    assert row(document, "next")["output"] == "<None>"


def test_progress_is_told_now_and_then_not_for_each_item(runs: Runs) -> None:
    runs.start(mapped("m", list(range(500)), "read", {"value": "${item}"}))
    told = [event["message"] for event in runs.events if event["type"] == "step_progress"]
    assert told[-1] == "500/500 items"
    assert 10 <= len(told) <= 51
    assert len(runs.events) < 70
