"""Maps and people: one question about all calls, doubts item by item, and tools that ask by themselves."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import interrupt

from checkpoints import open_store
from graph.cli.documents import RunView, read_run
from graph.state import ApprovalError
from tests.map.support import Json, Runs, doubtful, hard, mapped, row
from tools import ToolRegistry, policy

LIST = {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": 4}}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def _only(document: Json) -> Json:
    (question,) = document["pending"]
    assert isinstance(question, dict)
    return question


# -------------------------------------------------------------------------------------------- approval


def test_a_map_of_a_risky_tool_is_asked_about_once_with_all_its_calls(runs: Runs) -> None:
    waiting = runs.start(
        LIST, mapped("m", "${list}", "put_risky", {"value": "${item.n}", "secret": "geheim"})
    )

    question = _only(waiting)
    assert (question["step"], question["kind"], question["risk"]) == ("m", "approval", "high")
    assert question["args"]["calls"] == 4
    first = question["args"]["all"][0]
    assert first == {"index": 0, "tool": "put_risky", "args": {"value": 0, "secret": "[redacted]"}}
    assert runs.shelf.puts == []

    done = runs.resume("approve")
    assert done["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == [0, 1, 2, 3]


def test_all_of_many_calls_are_in_the_question(runs: Runs) -> None:
    question = _only(runs.start(mapped("m", list(range(500)), "put_risky", {"value": "${item}"})))
    assert question["args"]["calls"] == 500
    assert [call["args"]["value"] for call in question["args"]["all"]] == list(range(500))


def test_calls_too_large_for_a_question_are_kept_beside_it(runs: Runs) -> None:
    waiting = runs.start(mapped("m", list(range(5_000)), "put_risky", {"value": "${item}", "secret": "x"}))
    args = _only(waiting)["args"]
    assert args["calls"] == 5_000
    assert [call["args"]["value"] for call in args["first"]] == list(range(10))
    assert (args["see"], args["all"]["bytes"] > 100_000) == ("`planrail show r --json` has all calls", True)

    (question,) = _read_back(runs).document["pending"]
    assert question["args"]["calls"] == 5_000
    assert [call["args"]["value"] for call in question["args"]["all"]] == list(range(5_000))
    assert question["args"]["all"][-1]["args"]["secret"] == "[redacted]"

    assert runs.resume("approve")["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == list(range(5_000))


def _read_back(runs: Runs) -> RunView:
    with open_store(runs.path / "runs.db") as opened:
        return asyncio.run(read_run(opened, "r", whole_outputs=True))


def test_a_rejected_map_runs_no_item(runs: Runs) -> None:
    runs.start(mapped("m", [1, 2], "put_risky", {"value": "${item}"}))
    document = runs.resume({"decision": "reject", "reason": "not today"})
    assert row(document, "m")["status"] == "rejected"
    assert runs.shelf.puts == []


def test_the_arguments_of_a_whole_map_cannot_be_edited(runs: Runs) -> None:
    runs.start(mapped("m", [1, 2], "put_risky", {"value": "${item}"}))
    with pytest.raises(ApprovalError, match="no arguments to edit: approve or reject it"):
        runs.resume({"decision": "edit", "args": {"value": 9}})
    assert runs.resume("approve")["status"] == "succeeded"


@pytest.mark.parametrize("where", ["map", "step"])
def test_a_plan_may_ask_for_approval_of_a_map(runs: Runs, where: str) -> None:
    asks = {"require_approval": True}
    more = asks if where == "map" else {"step": asks}
    waiting = runs.start(mapped("m", [1, 2], "put", {"value": "${item}"}, **more))
    assert _only(waiting)["reason"] == "the plan requires approval"
    assert runs.resume("approve")["status"] == "succeeded"


def test_the_risk_of_a_map_counts_for_its_items(runs: Runs) -> None:
    assert _only(runs.start(mapped("m", [1], "put", {"value": "${item}"}, risk="high")))["risk"] == "high"


def test_a_rule_that_holds_for_one_item_makes_a_person_look_at_the_map(runs: Runs) -> None:
    waiting = runs.start(mapped("m", [1, 2, 3], "put_ruled", {"value": "${item}"}))
    assert "value == 3" in _only(waiting)["reason"]
    assert runs.shelf.puts == []
    assert runs.resume("approve")["status"] == "succeeded"


def test_a_rule_that_holds_for_none_asks_nobody(runs: Runs) -> None:
    assert runs.start(mapped("m", [1, 2], "put_ruled", {"value": "${item}"}))["status"] == "succeeded"


def test_a_forbidden_item_fails_alone_and_is_not_asked_about(runs: Runs) -> None:
    waiting = runs.start(mapped("m", [3, 4, 5], "put_ruled", {"value": "${item}"}, min_success=2))
    assert _only(waiting)["args"]["calls"] == 2
    document = runs.resume("approve")
    assert document["status"] == "succeeded"
    assert row(document, "m")["output"]["failures"][0]["code"] == "forbidden"
    assert sorted(runs.shelf.puts) == [3, 5]


def test_an_approval_does_not_hold_for_other_calls(runs: Runs) -> None:
    question = _only(runs.start(mapped("m", [1, 2], "put_risky", {"value": "${item}"})))
    other = Runs(runs.path.parent / f"{runs.path.name}-other")
    other.path.mkdir()
    assert (
        question["digest"]
        != _only(other.start(mapped("m", [1, 3], "put_risky", {"value": "${item}"})))["digest"]
    )


# ----------------------------------------------------------------------------------------------- doubt


def test_an_item_in_doubt_is_decided_by_a_person_and_the_others_are_done_meanwhile(runs: Runs) -> None:
    runs.shelf.after = doubtful(1)
    waiting = runs.start(mapped("m", [0, 1, 2], "put_once", {"value": "${item}"}))

    question = _only(waiting)
    assert question["kind"] == "outcome"
    assert question["args"] == {"item": 1, "call": {"tool": "put_once", "args": {"value": 1}}}
    assert row(waiting, "m")["status"] == "unknown"
    assert row(waiting, "m")["items"]["succeeded"] == 2

    done = runs.resume({"decision": "happened", "result": "seen"})
    assert row(done, "m")["output"]["results"] == ["<0>", "seen", "<2>"]
    assert runs.shelf.calls == {"put_once 0": 1, "put_once 1": 1, "put_once 2": 1}
    assert done["status"] == "succeeded"


def test_an_item_that_did_not_happen_is_made_and_no_other(runs: Runs) -> None:
    runs.shelf.behave = doubtful(1)
    runs.start(mapped("m", [0, 1, 2], "put_once", {"value": "${item}"}))
    done = runs.resume("not_happened")
    assert done["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == [0, 1, 2]
    assert runs.shelf.calls["put_once 0"] == 1


def test_several_items_in_doubt_are_asked_about_one_after_the_other(runs: Runs) -> None:
    runs.shelf.after = doubtful(0, 2)
    waiting = runs.start(mapped("m", [0, 1, 2], "put_once", {"value": "${item}"}))
    assert "1 more are in doubt" in _only(waiting)["reason"]
    first = _only(waiting)["args"]["item"]
    waiting = runs.resume({"decision": "happened", "result": "a"})
    assert (first, _only(waiting)["args"]["item"]) == (0, 2)
    done = runs.resume({"decision": "happened", "result": "b"})
    assert row(done, "m")["output"]["results"] == ["a", "<1>", "b"]


def test_a_doubt_is_decided_before_a_failed_map_is_given_up(runs: Runs) -> None:
    runs.settings = {"max_concurrency": 1}
    runs.shelf.after = doubtful(0)
    runs.shelf.behave = hard(1)
    waiting = runs.start(mapped("m", [0, 1, 2, 3, 4, 5, 6], "put_once", {"value": "${item}"}))
    assert _only(waiting)["kind"] == "outcome"
    done = runs.resume({"decision": "happened", "result": "seen"})
    assert row(done, "m")["error"]["code"] == "too_few_succeeded"
    assert 6 not in runs.shelf.puts


def test_stopping_over_a_doubt_leaves_the_map_unknown(runs: Runs) -> None:
    runs.shelf.after = doubtful(0)
    runs.start(mapped("m", [0, 1], "put_once", {"value": "${item}"}))
    done = runs.resume("stop")
    assert done["status"] == "stopped"
    assert row(done, "m")["status"] == "unknown"
    assert {(e["item"], e["status"]) for e in done["effects"]} == {(0, "unknown"), (1, "succeeded")}


# -------------------------------------------------------------------------------- a tool's own questions


def _asking(*askers: int) -> tuple[ToolRegistry, list[str]]:
    told: list[str] = []

    @policy(effect="read")
    def choose(number: int) -> str:
        """Ask a person about some numbers."""
        answer = interrupt(f"what of {number}?") if number in askers else "as it is"
        told.append(f"{number} {answer}")
        return f"{number} {answer}"

    return ToolRegistry.of(choose), told


@pytest.mark.parametrize("concurrency", [1, 4])
def test_each_item_gets_the_answer_to_its_own_question(runs: Runs, concurrency: int) -> None:
    runs.tools, told = _asking(1, 3)
    runs.settings = {"max_concurrency": concurrency}
    waiting = runs.start(mapped("m", [0, 1, 2, 3, 4], "choose", {"number": "${item}"}))
    answers: Json = {}
    for _ in range(2):
        asked = _only(waiting)
        assert asked["kind"] == "question"
        number = asked["args"]["question"].split()[-1].rstrip("?")
        answers[number] = f"answer {number}"
        waiting = runs.resume({"m": f"answer {number}"})
    assert waiting["status"] == "succeeded"
    assert row(waiting, "m")["output"]["results"] == [
        "0 as it is", "1 answer 1", "2 as it is", "3 answer 3", "4 as it is",
    ]  # fmt: skip
    assert len(told) == 5


def test_a_doubt_in_a_map_beside_other_work_holds_nothing_up(runs: Runs) -> None:
    runs.shelf.after = doubtful("x")
    other: Any = {"id": "o", "action": "tool", "tool": "read", "args": {"value": "y"}}
    waiting = runs.start(mapped("m", ["x"], "put_once", {"value": "${item}"}), other)
    assert row(waiting, "o")["status"] == "succeeded"
