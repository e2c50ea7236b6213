"""The command line, each command in a process of its own where that matters."""

import json
import re
import shlex
import time
from typing import Any

import pytest

from tests.acceptance.support import (
    BASE_PLAN,
    DOCUMENT_KEYS,
    SCRIPT,
    STEP_KEYS,
    CommandLine,
    Endpoint,
    Inline,
    Toolbox,
    by_id,
    outputs,
    plan,
    replans,
    statuses,
    step,
    waiting_steps,
    write,
)

READ_THEN_WRITE = plan(
    step("find", "web_search", {"query": "q"}),
    write("save", "${find.items[1].name} of ${find.count}"),
)
THREE_TO_APPROVE = plan(
    write("s1", "one", require_approval=True),
    write("s2", "two", require_approval=True),
    write("s3", "three", require_approval=True),
    step("s4", "web_search", {"query": "no need to ask"}),
)


# ------------------------------------------------------------------------------------------------ run


def test_a_plan_file_runs_to_one_document_that_later_commands_show_again(
    cli: CommandLine, toolbox: Toolbox
) -> None:
    ran = cli.run(READ_THEN_WRITE)

    assert ran.code == 0, ran.text
    document = ran.document
    assert document.keys() >= DOCUMENT_KEYS
    assert document["status"] == "succeeded"
    assert document["success"] is True
    assert document["answer"]
    assert document["pending"] == []
    assert replans(document) == 0
    rows = by_id(document)
    assert list(rows) == ["find", "save"]
    for row in rows.values():
        assert row.keys() >= STEP_KEYS
        assert row["action"] == "tool"
        assert row["status"] == "succeeded"
        assert row["attempts"] == 1
        assert row["error"] is None
        assert row["revision"] == document["plan"]["revision"]
        assert row["started_at"] <= row["ended_at"]
    assert rows["find"]["output"]["count"] == 3
    assert rows["find"]["ended_at"] <= rows["save"]["started_at"]
    (written,) = toolbox.calls("write_file")
    assert written["content"] == "y of 3"
    assert written["key"] == rows["save"]["idempotency_key"]
    assert len(document["effects"]) == 1
    assert "save" in json.dumps(document["effects"])

    shown = cli.on("show", "r1", "--json")
    assert shown.code == 0, shown.text
    assert shown.document["steps"] == document["steps"]
    assert {key: shown.document[key] for key in ("status", "answer", "effects")} == {
        key: document[key] for key in ("status", "answer", "effects")
    }
    table = cli.on("steps")
    assert table.code == 0
    assert all(word in table.out for word in ("find", "save", "succeeded"))
    runs = cli("runs", "--db", str(cli.database))
    assert runs.code == 0
    assert "r1" in runs.out
    assert "succeeded" in runs.out


def test_a_plan_comes_from_stdin_and_tools_from_a_module_in_the_folder(
    cli: CommandLine, toolbox: Toolbox
) -> None:
    assert SCRIPT.exists(), "the console script `planrail` is installed beside this Python"

    ran = cli(
        "run", "--plan", "-", "--tools", toolbox.path.stem, "--db", "runs.db", "--json",
        stdin=json.dumps(READ_THEN_WRITE), script=True,
    )  # fmt: skip

    assert ran.code == 0, ran.text
    assert ran.document["status"] == "succeeded"
    assert len(toolbox.calls("write_file")) == 1


def test_one_attribute_of_a_module_may_hold_the_tools(inline: Inline, toolbox: Toolbox) -> None:
    path = inline.line.write_plan(READ_THEN_WRITE)

    ran = inline("run", "--plan", path, "--tools", f"{toolbox.path}:TOOLS", "--db", "runs.db", "--json")

    assert ran.code == 0, ran.text


def test_a_goal_beside_a_plan_is_the_runs_goal(inline: Inline, toolbox: Toolbox) -> None:
    path = inline.line.write_plan({"steps": READ_THEN_WRITE["steps"]})

    ran = inline(
        "run", "find and save", "--plan", path, "--tools", str(toolbox.path), "--db", "runs.db", "--json"
    )

    assert ran.code == 0, ran.text
    assert ran.document["plan"]["goal"] == "find and save"


def test_plain_functions_and_postponed_annotations_make_tools(inline: Inline) -> None:
    source = '''
from __future__ import annotations

from typing import Annotated

from tools import IdempotencyKey, policy


@policy(effect="write", idempotent=True, timeout=10)
def save(text: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Save a text."""
    return f"{text} {bool(key)}"
'''
    inline.line.toolbox.path.write_text(source, encoding="utf-8")

    ran = inline.run(plan(step("s", "save", {"text": "kept"})))

    assert ran.code == 0, ran.text
    assert outputs(ran.document) == {"s": "kept True"}


def test_a_failed_run_says_why_and_is_not_run_again_by_resume(cli: CommandLine, toolbox: Toolbox) -> None:
    failing = plan(step("look", "missing", {"what": "order"}), write("save", "${look}"))

    ran = cli.run(failing)
    again = cli.on("resume", "r1", "--json")

    assert ran.code == 1, ran.text
    assert ran.document["success"] is False
    assert ran.document["status"] in {"failed", "partial"}
    assert ran.document["reason"]
    assert ran.document["effects"] == []
    look = by_id(ran.document)["look"]
    assert look["status"] == "failed"
    assert "there is no order" in json.dumps(look["error"])
    assert again.code == 1, again.text
    assert len(toolbox.calls("missing")) == 1
    assert toolbox.calls("write_file") == []


def test_without_json_a_person_is_told_what_was_done_and_what_was_not(inline: Inline) -> None:
    failing = plan(step("look", "missing", {"what": "order"}), write("save", "${look}"))
    arguments = [each for each in inline.line.run_arguments(failing) if each != "--json"]

    ran = inline(*arguments)

    assert ran.code == 1
    assert "look" in ran.text
    assert "there is no order" in ran.text


def test_layered_scheduling_gives_the_same_results(inline: Inline) -> None:
    lanes = inline.run(READ_THEN_WRITE, run_id="lanes").document
    layered = inline.run(READ_THEN_WRITE, "--set", "scheduling=layered", run_id="layered").document

    assert outputs(layered) == outputs(lanes)
    assert statuses(layered) == statuses(lanes)


def test_a_run_can_be_watched_from_another_process_and_is_busy_for_it(
    cli: CommandLine, toolbox: Toolbox
) -> None:
    slow = plan(
        step("first", "web_search", {"query": "q"}), step("nap", "pause", {"seconds": 40, "label": "nap"})
    )
    with cli.spawn(*cli.run_arguments(slow)) as running:
        try:
            limit = time.monotonic() + 60
            while not toolbox.calls("pause", "begin") and time.monotonic() < limit:
                assert running.poll() is None
                time.sleep(0.05)
            shown = cli.on("show", "r1", "--json")
            busy = cli.on("resume")
        finally:
            running.kill()
            running.communicate()

    assert statuses(shown.document) == {"first": "succeeded", "nap": "running"}
    assert "r1" in busy.refused(4)
    assert len(toolbox.calls("pause", "begin")) == 1


def test_the_help_lists_every_command(inline: Inline) -> None:
    told = inline("--help")

    assert told.code == 0
    for command in ("run", "resume", "approve", "reject", "show", "steps", "runs", "check", "demo"):
        assert re.search(rf"\b{command}\b", told.out), command


@pytest.mark.parametrize("arguments", [["fly"], ["run", "--no-such-option"], ["approve"]])
def test_bad_usage_is_exit_two(inline: Inline, arguments: list[str]) -> None:
    told = inline(*arguments)

    assert told.code == 2
    assert told.err.strip()


# ---------------------------------------------------------------------------------------- check


def test_check_passes_a_good_plan_and_runs_nothing(inline: Inline, toolbox: Toolbox) -> None:
    told = inline("check", "--plan", inline.line.write_plan(BASE_PLAN), "--tools", str(toolbox.path))

    assert told.code == 0, told.text
    assert toolbox.calls() == []


def test_check_lists_every_problem_of_a_plan(inline: Inline, toolbox: Toolbox) -> None:
    wrong = plan(
        step("a", "no_such_tool"),
        step("b", "web_search", {"query": "q"}, depends_on=["c"]),
        step("c", "web_search", {"query": "q"}, depends_on=["b"]),
        step("d", "web_search", {"query": "${nowhere.x}"}),
        write("e", "x", depends_on=["z9"]),
        step("f", "web_search", {}),
        step("g", "write_file", {"path": "p", "content": "c", "key": "mine"}),
    )

    told = inline("check", "--plan", inline.line.write_plan(wrong), "--tools", str(toolbox.path))

    assert told.code == 2
    codes = ("unknown_tool", "cycle", "unknown_reference", "unknown_dependency", "bad_args", "injected_arg")
    assert [code for code in codes if code not in told.text] == []
    assert toolbox.calls() == []


# ------------------------------------------------------------------------------------- approvals


def test_a_high_risk_step_waits_and_runs_with_what_was_approved(cli: CommandLine, toolbox: Toolbox) -> None:
    waiting = cli.run(BASE_PLAN)

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
    cli.run(BASE_PLAN)

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
    waiting = inline.run(plan(*BASE_PLAN["steps"], write("s3", "${s2}")))
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
    inline.run(BASE_PLAN)

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
    inline.run(BASE_PLAN)

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


# ------------------------------------------------------------------------------ defaults, demo, model


def test_the_commands_work_as_the_help_words_them_with_the_default_database(
    cli: CommandLine, toolbox: Toolbox
) -> None:
    cli.write_plan(BASE_PLAN)

    waiting = cli("run", "--plan", "plan.json", "--tools", toolbox.path.stem, "--run-id", "r1", "--json")
    assert waiting.code == 3, waiting.text
    approved = cli("approve", "r1", "s2")

    assert approved.code == 0, approved.text
    assert len(toolbox.calls("write_file")) == 1
    assert "r1" in cli("runs").out


def test_the_demo_stops_at_its_approval_and_the_printed_command_finishes_it(cli: CommandLine) -> None:
    demo = cli("demo", script=True)

    assert demo.code == 3, demo.text
    assert "recorded" in demo.text.lower(), "with no key it says that the judgement is a recorded answer"
    printed = re.search(r"\bplanrail (approve [^\n`'│]*[^\n`'│ .])", demo.text)
    assert printed is not None, demo.text
    finished = cli(*shlex.split(printed[1]), script=True)

    assert finished.code == 0, finished.text


def test_a_goal_alone_is_planned_by_the_endpoint_that_is_set(inline: Inline, toolbox: Toolbox) -> None:
    with Endpoint(lambda _asked: '{"answer": "forty-two"}') as endpoint:
        inline.line.extra.update(endpoint.environment)
        ran = inline(
            "run", "what is six times seven?", "--tools", str(toolbox.path), "--db", "runs.db",
            "--run-id", "r1", "--json",
        )  # fmt: skip

    assert ran.code == 0, ran.text
    assert ran.document["answer"] == "forty-two"
    assert ran.document["steps"] == []
    assert endpoint.asked
    assert "sk-acceptance-secret" not in ran.text
    for path in inline.line.folder.rglob("runs.db*"):
        assert path.is_dir() or b"sk-acceptance-secret" not in path.read_bytes()


def test_a_goal_alone_without_an_endpoint_is_refused_with_the_remedy(inline: Inline) -> None:
    told = inline("run", "do something", "--tools", str(inline.line.toolbox.path), "--db", "runs.db")

    told.refused(naming="OPENAI_API_KEY")
