"""What a failed step does to the others, and how often it is tried."""

import json
from typing import Any

from tests.acceptance.support import build, by_id, given, plan, replans, statuses, step, stored, thread, write
from tests.acceptance.toolbox import Toolbox


def test_abort_ends_the_run_and_tells_what_was_done(toolbox: Toolbox) -> None:
    steps = plan(
        write("first", "done before"),
        step("bad", "missing", {"what": "order"}, depends_on=["first"]),
        write("after", "${bad}"),
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] in {"failed", "partial"}
    assert result["success"] is False
    assert result["reason"]
    rows = by_id(result)
    assert rows["first"]["status"] == "succeeded"
    assert rows["bad"]["status"] == "failed"
    assert rows["bad"]["attempts"] == 1
    assert rows["after"]["status"] not in {"succeeded", "running"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["first.md"]
    assert len(toolbox.calls("missing")) == 1
    assert len(result["effects"]) == 1


def test_skip_settles_a_dependent_without_a_replan(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}),
        write("skipped", "${bad}", on_dependency_failure="skip"),
        write("on", "${skipped}", on_dependency_failure="degrade"),
        write("beside", "x"),
    )

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {
        "bad": "failed",
        "skipped": "skipped",
        "on": "succeeded",
        "beside": "succeeded",
    }
    assert replans(result) == 0
    assert result["status"] in {"succeeded", "partial"}
    assert {call["path"]: call["content"] for call in toolbox.calls("write_file")} == {
        "on.md": None, "beside.md": "x",
    }  # fmt: skip


def test_degrade_runs_with_null_for_what_is_missing(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}),
        step("good", "web_search", {"query": "q"}),
        write("both", {"bad": "${bad}", "good": "${good.count}"}, on_dependency_failure="degrade"),
    )

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {"bad": "failed", "good": "succeeded", "both": "succeeded"}
    assert replans(result) == 0
    assert toolbox.calls("write_file")[0]["content"] == {"bad": None, "good": 3}


def test_an_optional_leaf_may_fail(toolbox: Toolbox) -> None:
    steps = plan(
        step("bad", "missing", {"what": "it"}, optional=True), step("good", "plain", {"text": "fine"})
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert statuses(result) == {"bad": "failed", "good": "succeeded"}
    assert replans(result) == 0


def test_a_soft_failure_is_tried_again_and_a_hard_one_is_not(toolbox: Toolbox) -> None:
    steps = plan(
        step("soft", "flaky", {"times": 2, "label": "soft"}, max_attempts=3),
        step("softer", "flaky", {"times": 9, "label": "softer"}, max_attempts=2, optional=True),
        step("hard", "missing", {"what": "it"}, max_attempts=3, optional=True),
    )

    result = build(toolbox).invoke(given(steps))

    rows = by_id(result)
    assert (rows["soft"]["status"], rows["soft"]["attempts"], rows["soft"]["output"]) == ("succeeded", 3, 3)
    assert (rows["softer"]["status"], rows["softer"]["attempts"]) == ("failed", 2)
    assert "busy" in json.dumps(rows["softer"]["error"], default=str)
    assert (rows["hard"]["status"], rows["hard"]["attempts"]) == ("failed", 1)
    assert len(toolbox.calls("missing")) == 1


def test_an_unknown_outcome_waits_for_a_person(toolbox: Toolbox, store: Any) -> None:
    steps = plan(step("t", "transfer", {"to": "bank"}, max_attempts=3), write("after", "${t}"))

    result = stored(toolbox, store).invoke(given(steps), thread())

    assert result["status"] == "waiting"
    assert statuses(result)["t"] == "unknown"
    assert [(each["step"], each["kind"]) for each in result["pending"]] == [("t", "outcome")]
    assert len(toolbox.calls("transfer")) == 1
    assert toolbox.calls("write_file") == []
