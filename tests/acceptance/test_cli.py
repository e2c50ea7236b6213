"""The commands run, show and check, each in a process of its own where that matters."""

import json
import re
import time

import pytest

from tests.acceptance.command_line import SCRIPT, CommandLine, Inline
from tests.acceptance.support import (
    DOCUMENT_KEYS,
    STEP_KEYS,
    by_id,
    outputs,
    plan,
    replans,
    statuses,
    step,
    write,
)
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0

READ_THEN_WRITE = plan(
    step("find", "web_search", {"query": "q"}),
    write("save", "${find.items[1].name} of ${find.count}"),
)


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


def test_check_passes_a_good_plan_and_runs_nothing(inline: Inline, toolbox: Toolbox) -> None:
    told = inline("check", "--plan", inline.line.write_plan(P0), "--tools", str(toolbox.path))

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
