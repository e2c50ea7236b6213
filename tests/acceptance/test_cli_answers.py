"""Questions to a person and their answers, on the command line."""

import json
import re
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, Inline
from tests.acceptance.support import by_id, outputs, plan, statuses, step, waiting_steps, write
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0

THREE_TO_APPROVE = plan(
    write("s1", "one", require_approval=True),
    write("s2", "two", require_approval=True),
    write("s3", "three", require_approval=True),
    step("s4", "web_search", {"query": "no need to ask"}),
)


def test_a_high_risk_step_waits_and_runs_with_what_was_approved(cli: CommandLine, toolbox: Toolbox) -> None:
    waiting = cli.run(P0)

    assert waiting.code == 3, waiting.text
    document = waiting.document
    assert document["status"] == "waiting"
    assert document["success"] is not True
    assert statuses(document) == {"s1": "succeeded", "s2": "waiting"}
    (asked,) = document["pending"]
    assert asked["step"] == "s2"
    assert asked["tool"] == "write_file"
    assert asked["args"]["content"] == outputs(document)["s1"]
    assert asked["risk"] == "high"
    assert toolbox.calls("write_file") == []

    resumed = cli.on("resume")
    assert resumed.code == 3, resumed.text
    assert re.search(r"planrail approve\b.*\br1\b", resumed.text), resumed.text

    approved = cli.on("approve", "r1", "s2", "--by", "ann")
    assert approved.code == 0, approved.text
    (written,) = toolbox.calls("write_file")
    assert {key: written[key] for key in asked["args"] if key in written} == asked["args"]
    assert len(toolbox.calls("web_search")) == 1


def test_approving_with_other_arguments_runs_those(cli: CommandLine, toolbox: Toolbox) -> None:
    cli.run(P0)

    edited = {"path": "other.md", "content": "my own words"}
    approved = cli.on("approve", "r1", "s2", "--args", json.dumps(edited), "--by", "ann")

    assert approved.code == 0, approved.text
    (written,) = toolbox.calls("write_file")
    assert (written["path"], written["content"]) == ("other.md", "my own words")
    shown = cli.on("show", "r1", "--json").document
    assert shown["status"] == "succeeded"
    assert shown["pending"] == []


@pytest.mark.parametrize("then", ["skip", "replan", "stop"])
def test_a_rejected_step_never_runs(inline: Inline, toolbox: Toolbox, then: str) -> None:
    waiting = inline.run(plan(*P0["steps"], write("s3", "${s2}")))
    assert waiting.code == 3, waiting.text

    rejected = inline.on("reject", "r1", "s2", "--reason", "not this customer", "--then", then)

    assert rejected.code == 1, rejected.text
    document = inline.on("show", "r1", "--json").document
    assert document["status"] in {"partial", "failed", "rejected", "stopped"}
    assert document["success"] is False
    assert document["pending"] == []
    assert by_id(document)["s2"]["status"] == "rejected"
    assert "not this customer" in json.dumps(document)
    assert toolbox.calls("write_file") == []
    assert len(toolbox.calls("web_search")) == 1


def test_rejecting_needs_a_reason(inline: Inline) -> None:
    inline.run(P0)

    told = inline.on("reject", "r1", "s2")

    assert told.code == 2
    assert inline.on("show", "r1", "--json").document["pending"]


def test_a_rejected_step_that_is_skipped_leaves_the_others_their_way(
    inline: Inline, toolbox: Toolbox
) -> None:
    inline.run(
        plan(
            write("s1", "one", require_approval=True),
            write("after", "${s1}", on_dependency_failure="degrade"),
            write("beside", "two", require_approval=True),
        )
    )

    inline.on("reject", "r1", "s1", "--reason", "no", "--then", "skip")
    inline.on("approve", "r1", "beside")

    document = inline.on("show", "r1", "--json").document
    assert statuses(document) == {"s1": "rejected", "after": "succeeded", "beside": "succeeded"}
    assert {call["path"]: call["content"] for call in toolbox.calls("write_file")} == {
        "after.md": None,
        "beside.md": "two",
    }


def test_several_approvals_are_answered_one_by_one_in_any_order(cli: CommandLine, toolbox: Toolbox) -> None:
    waiting = cli.run(THREE_TO_APPROVE)
    assert waiting.code == 3, waiting.text
    assert waiting_steps(waiting.document) == {"s1", "s2", "s3"}
    assert statuses(waiting.document)["s4"] == "succeeded"

    unclear = cli.on("approve")
    assert unclear.code == 2
    assert all(name in unclear.err for name in ("s1", "s2", "s3"))
    assert toolbox.calls("write_file") == []

    assert cli.on("approve", "r1", "s3").code == 3
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s3.md"]
    assert cli.on("reject", "r1", "s1", "--reason", "no", "--then", "skip").code == 3
    last = cli.on("approve", "r1")
    assert last.code == 1, last.text

    assert [call["path"] for call in toolbox.calls("write_file")] == ["s3.md", "s2.md"]
    assert len(toolbox.calls("web_search")) == 1
    document = cli.on("show", "r1", "--json").document
    assert statuses(document) == {"s1": "rejected", "s2": "succeeded", "s3": "succeeded", "s4": "succeeded"}
    assert len(document["effects"]) == 2


def _pending(document: dict[str, Any]) -> dict[str, str]:
    return {str(entry["step"]): str(entry["id"]) for entry in document["pending"]}


def test_an_answer_to_no_pending_question_is_refused_and_changes_nothing(
    inline: Inline, toolbox: Toolbox
) -> None:
    two = plan(write("s1", "one", require_approval=True), write("s2", "two", require_approval=True))
    mine = _pending(inline.run(two, run_id="mine").document)
    foreign = _pending(inline.run(plan(write("x1", require_approval=True)), run_id="theirs").document)

    inline.on("approve", "mine", "f" * 32).refused(naming="f" * 32)
    inline.on("approve", "mine", foreign["x1"]).refused()
    inline.on("approve", "mine", "x1").refused(naming="x1")
    inline.on("approve", "nobodys", "s1").refused(naming="nobodys")
    inline.on("reject", "mine", "s9", "--reason", "no").refused(naming="s9")
    assert toolbox.calls("write_file") == []

    assert inline.on("approve", "mine", "s1").code == 3
    inline.on("approve", "mine", "s1").refused(naming="s1")
    inline.on("reject", "mine", "s1", "--reason", "too late").refused(naming="s1")
    inline.on("approve", "mine", mine["s1"]).refused()
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s1.md"]
    assert waiting_steps(inline.on("show", "mine", "--json").document) == {"s2"}

    assert inline.on("approve", "mine", mine["s2"]).code == 0
    inline.on("approve", "mine", "s2").refused(naming="mine")
    inline.on("approve", "mine").refused(naming="mine")
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s1.md", "s2.md"]
    assert waiting_steps(inline.on("show", "theirs", "--json").document) == {"x1"}


@pytest.mark.parametrize(
    "arguments",
    [
        "{not json",
        '["a list"]',
        '{"path": "p", "content": "c", "key": "mine"}',
        '{"path": "p", "content": "c", "colour": "red"}',
        '{"path": {"no": "text"}, "content": "c"}',
    ],
)
def test_arguments_the_tool_does_not_take_leave_the_question_open(
    inline: Inline, toolbox: Toolbox, arguments: str
) -> None:
    inline.run(P0)

    inline.on("approve", "r1", "s2", "--args", arguments).refused()

    assert toolbox.calls("write_file") == []
    assert waiting_steps(inline.on("show", "r1", "--json").document) == {"s2"}
    assert inline.on("approve", "r1", "s2").code == 0
    assert len(toolbox.calls("write_file")) == 1


@pytest.mark.parametrize(
    ("approve_at", "risk", "waits"),
    [("never", "high", False), ("high", "medium", False), ("medium", "medium", True), ("low", "low", True)],
)
def test_approve_at_says_from_which_risk_on_writes_wait(
    inline: Inline, toolbox: Toolbox, approve_at: str, risk: str, *, waits: bool
) -> None:
    ran = inline.run(plan(write("w", "x", risk=risk)), "--set", f"approve_at={approve_at}")

    assert ran.code == (3 if waits else 0), ran.text
    assert bool(toolbox.calls("write_file")) is not waits


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_a_read_waits_only_where_its_plan_asks_for_approval(
    inline: Inline, toolbox: Toolbox, level: str
) -> None:
    both = plan(
        step("read", "web_search", {"query": "q"}, risk=level),
        step("asked", "web_search", {"query": "r"}, risk=level, require_approval=True),
    )

    ran = inline.run(both, "--set", f"approve_at={level}")

    assert ran.code == 3, ran.text
    assert statuses(ran.document) == {"read": "succeeded", "asked": "waiting"}
    assert toolbox.calls("web_search") == [{"query": "q"}]


def test_a_tool_without_a_policy_waits_whatever_the_plan_says(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(plan(step("b", "bare", {"text": "hello"}, risk="low", require_approval=False)))

    assert ran.code == 3, ran.text
    assert toolbox.calls("bare") == []


def test_a_write_with_unknown_outcome_waits_for_a_person_and_is_not_called_again(
    inline: Inline, toolbox: Toolbox
) -> None:
    ran = inline.run(plan(step("t", "transfer", {"to": "bank"}, risk="low", max_attempts=3)))
    again = inline.on("resume", "r1", "--json")

    for told in (ran, again):
        assert told.code == 3, told.text
        assert statuses(told.document) == {"t": "unknown"}
        assert [(each["step"], each["kind"]) for each in told.document["pending"]] == [("t", "outcome")]
    assert len(toolbox.calls("transfer")) == 1
