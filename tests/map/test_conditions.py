"""Items with conditions, expectations and fallbacks of their own, and maps with theirs."""

from pathlib import Path

import pytest

from tests.map.support import Runs, hard, mapped, row
from tests.support.models import says

LIST = {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": 4}}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_items_whose_condition_is_false_are_left_out_and_are_no_loss(runs: Runs) -> None:
    document = runs.start(
        LIST, mapped("m", "${list}", "read", {"value": "${item.n}"}, step={"when": "item.n % 2 == 0"})
    )
    assert document["status"] == "succeeded"
    assert document["reason"] is None
    assert row(document, "m")["output"] == {"results": ["<0>", None, "<2>", None], "failures": []}
    assert row(document, "m")["items"] == {"total": 4, "succeeded": 2, "failed": 0, "not_taken": 2}


def test_a_share_is_one_of_the_items_that_were_taken(runs: Runs) -> None:
    runs.shelf.behave = hard(0)
    step = {"when": "index < 2"}
    document = runs.start(
        mapped("m", list(range(9)), "read", {"value": "${item}"}, min_success=0.5, step=step)
    )
    assert document["status"] == "succeeded"
    assert row(document, "m")["items"] == {"total": 9, "succeeded": 1, "failed": 1, "not_taken": 7}


def test_an_item_whose_condition_cannot_be_told_fails_alone(runs: Runs) -> None:
    items = [{"n": 1}, {}, {"n": 3}]
    step = {"when": "item.n > 0"}
    document = runs.start(mapped("m", items, "read", {"value": "${index}"}, min_success=2, step=step))
    assert document["status"] == "succeeded"
    assert row(document, "m")["output"]["failures"][0]["code"] == "bad_condition"


def test_only_calls_that_will_be_made_are_shown_for_approval(runs: Runs) -> None:
    waiting = runs.start(
        mapped("m", [1, 2, 3], "put_risky", {"value": "${item}"}, step={"when": "item != 2"})
    )
    assert [call["args"]["value"] for call in waiting["pending"][0]["args"]["all"]] == [1, 3]
    runs.resume("approve")
    assert sorted(runs.shelf.puts) == [1, 3]


def test_each_item_is_held_against_what_is_expected(runs: Runs) -> None:
    document = runs.start(
        mapped(
            "m", ["a", "b"], "read", {"value": "${item}"}, min_success=1,
            step={"expect": "result == '<a>'", "max_attempts": 1},
        )
    )  # fmt: skip
    assert row(document, "m")["output"]["results"] == ["<a>", None]
    assert row(document, "m")["output"]["failures"][0]["code"] == "unexpected_result"


def test_a_map_may_be_expected_to_give_something(runs: Runs) -> None:
    document = runs.start(
        mapped("m", [1, 2], "read", {"value": "${item}"}, expect="size(result.results) > 2")
    )
    assert row(document, "m")["error"]["code"] == "unexpected_result"
    assert row(document, "m")["output"]["results"] == ["<1>", "<2>"]


def test_an_item_falls_back_alone(runs: Runs) -> None:
    runs.shelf.behave = hard("b")
    fallback = {"tool": "read_capped", "args": {"value": "${item}${index}"}}
    document = runs.start(
        mapped("m", ["a", "b", "c"], "read", {"value": "${item}"}, step={"fallback": fallback})
    )
    assert row(document, "m")["output"]["results"] == ["<a>", "<b1>", "<c>"]
    assert runs.shelf.calls["read_capped b1"] == 1


def test_a_fallback_that_is_risky_is_asked_about_with_the_map(runs: Runs) -> None:
    runs.shelf.behave = hard(2)
    fallback = {"tool": "put_risky", "args": {"value": "${item}"}}
    waiting = runs.start(mapped("m", [1, 2], "put_once", {"value": "${item}"}, step={"fallback": fallback}))
    (question,) = waiting["pending"]
    assert [call["tool"] for call in question["args"]["all"]] == ["put_once", "put_risky"] * 2
    assert question["risk"] == "high"
    assert runs.shelf.puts == []
    assert runs.resume("approve")["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == [1, 2]


def test_a_map_that_failed_falls_back_as_a_whole(runs: Runs) -> None:
    runs.shelf.behave = hard(1)
    fallback = {"tool": "read", "args": {"value": "instead"}}
    document = runs.start(mapped("m", [1], "put", {"value": "${item}"}, fallback=fallback))
    assert document["status"] == "succeeded"
    assert row(document, "m")["output"] == "<instead>"
    assert document["reason"] == (
        "m: its fallback read took over after too_few_succeeded: "
        "1 of 1 items failed (#0 not_found: there is no 1); all must succeed"
    )


def test_a_map_that_is_not_taken_runs_nothing(runs: Runs) -> None:
    document = runs.start(
        LIST, mapped("m", "${list}", "put_risky", {"value": "${item.n}"}, when="size(list) > 9")
    )
    assert row(document, "m")["status"] == "not_taken"
    assert document["status"] == "succeeded"


def test_an_answer_that_is_not_expected_of_an_item_is_sent_back(runs: Runs) -> None:
    runs.models = {"default": says("no", "yes")}
    step = {"action": "llm", "instruction": "say yes to ${item}", "expect": "result == 'yes'"}
    document = runs.start({"id": "m", "action": "map", "over": ["x"], "step": step})
    assert row(document, "m")["output"]["results"] == ["yes"]
