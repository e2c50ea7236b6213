"""Commands from end to end, in this process."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from graph.cli import working
from graph.cli.errors import NoSuchQuestion
from graph.cli.questions import Kind, choose_question
from graph.cli.render import pending_lines
from tests.cli.support import Prompt, step

LOOK = step("s1", "look", args={"what": "it"})
SAVE = step("s2", "save", args={"text": "${s1.found}"}, require_approval=True)
TRANSFER = step("t1", "transfer", args={"to": "bank"})


def test_text_output_tells_the_steps_the_answer_and_the_effects(prompt: Prompt) -> None:
    said = prompt.run(LOOK, step("s2", "save", args={"text": "${s1.found}"}))

    assert said.code == 0
    for words in ("run r1  succeeded", "s1  look", "s2  save", "effects", '{"text": "it"}'):
        assert words in said.out
    assert "s1  started" in said.err
    assert "s2  succeeded" in said.err


def test_json_output_is_one_document_with_progress_beside_it(prompt: Prompt) -> None:
    said = prompt.run(LOOK, more=("--json",))

    assert said.document["status"] == "succeeded"
    assert "s1  succeeded" in said.err


def test_a_waiting_run_shows_what_would_run_and_a_command_that_works(prompt: Prompt) -> None:
    said = prompt.run(LOOK, SAVE)

    assert said.code == 3
    assert "text = it" in said.out
    (line,) = [line for line in said.out.splitlines() if line.strip().startswith("approve ")]
    words = line.split()
    approved = prompt(*words[words.index("approve", 1) :])
    assert approved.code == 0
    assert prompt.calls() == ["look", "save"]


@pytest.mark.parametrize("kind", ["approval", "outcome"])
def test_a_printed_command_answers_nothing_that_was_asked_since(kind: Kind) -> None:
    asked: dict[str, Any] = {
        "id": "ap-1",
        "kind": kind,
        "step": "s1",
        "tool": "save",
        "args": {},
        "risk": "low",
        "reason": "",
    }
    since = {**asked, "id": "ap-2", "args": {"text": "other"}}

    title, *commands = [
        str(line).split() for line in pending_lines("r1", [asked], "planrail.db") if str(line)
    ]

    assert "s1" in title
    assert len(commands) == (2 if kind == "approval" else 3)
    for words in commands:
        named = words[words.index("r1") + 1]
        assert choose_question([asked], kind, named, "r1") == asked
        with pytest.raises(NoSuchQuestion, match="ap-2"):
            choose_question([since], kind, named, "r1")


def test_a_printed_decision_works(prompt: Prompt) -> None:
    asked = prompt.run(TRANSFER)
    (line,) = [line for line in asked.out.splitlines() if line.endswith(" happened")]

    assert prompt(*line[line.index(" decide ") :].split()).code == 0
    assert prompt.calls() == ["transfer"]


def test_a_run_is_taken_up_from_another_folder_with_its_own_tools_and_settings(prompt: Prompt) -> None:
    second = step("s3", "save", args={"text": "${s2}"})
    prompt.run(LOOK, SAVE, second, more=("--set", "approve_at=low", "--set", "scheduling=layered"))
    elsewhere = prompt.folder / "elsewhere"
    elsewhere.mkdir()
    prompt.patch.chdir(elsewhere)
    database = str(prompt.folder / "planrail.db")

    assert prompt("approve", "r1", "s2", "--db", database).code == 3
    assert prompt.calls() == ["look", "save"]
    assert prompt("approve", "r1", "s3", "--db", database, "--set", "approve_at=high").code == 0
    assert prompt.calls() == ["look", "save", "save"]


def test_a_refused_run_keeps_the_setup_of_the_run_that_has_its_id(prompt: Prompt) -> None:
    prompt.run(LOOK, SAVE)
    (prompt.folder / "other.py").write_text("raise SystemExit", encoding="utf-8")

    again = prompt("run", "--plan", "plan.json", "--tools", "mytools.py:TOOLS", "--run-id", "r1")

    assert again.code == 2
    assert "--run-id" in again.err
    assert prompt("approve", "r1").code == 0


def test_an_unknown_outcome_is_decided_by_a_person(prompt: Prompt) -> None:
    asked = prompt.run(TRANSFER, step("s2", "save", args={"text": "${t1}"}))
    assert asked.code == 3
    assert re.search(r"decide r1 ap-\w+ happened$", asked.out, re.MULTILINE)

    said = prompt("decide", "r1", "t1", "happened", "--result", '"sent by hand"', "--json")

    assert said.code == 0
    assert {row["id"]: row["output"] for row in said.document["steps"]} == {
        "t1": "sent by hand",
        "s2": "sent by hand",
    }
    assert prompt.calls() == ["transfer", "save"]


def test_a_write_that_did_not_happen_is_called_again(prompt: Prompt) -> None:
    prompt.run(TRANSFER)

    said = prompt("decide", "r1", "t1", "not-happened")

    assert said.code == 3
    assert prompt.calls() == ["transfer", "transfer"]


def test_a_result_goes_only_with_what_happened(prompt: Prompt) -> None:
    prompt.run(TRANSFER)

    assert prompt("decide", "r1", "t1", "not-happened", "--result", "1").code == 2
    assert prompt("decide", "r1", "t1", "perhaps").code == 2
    assert prompt("approve", "r1", "t1").code == 2
    assert prompt.calls() == ["transfer"]


def test_the_state_table_has_a_row_for_each_step(prompt: Prompt) -> None:
    prompt.run(LOOK, SAVE)

    table = prompt("steps", "r1").out.splitlines()
    rows = prompt("steps", "r1", "--json").document["steps"]

    assert table[0].split() == [
        "task_id", "step_id", "status", "attempts", "input_snapshot", "output_snapshot", "error_message",
        "created_at", "updated_at",
    ]  # fmt: skip
    assert list(rows[0]) == table[0].split()
    assert [(row["task_id"], row["step_id"], row["status"]) for row in rows] == [
        ("r1", "s1", "succeeded"),
        ("r1", "s2", "waiting"),
    ]
    assert rows[0]["input_snapshot"] == {"what": "it"}
    assert rows[0]["output_snapshot"] == {"found": "it"}
    assert rows[0]["created_at"] <= rows[0]["updated_at"]


def test_runs_are_listed_newest_first_and_no_more_than_asked(prompt: Prompt) -> None:
    for name in ("one", "two", "three"):
        assert prompt.run(LOOK, run_id=name).code == 0

    listed = prompt("runs", "--limit", "2", "--json").document["runs"]

    assert [run["run_id"] for run in listed] == ["three", "two"]
    assert prompt("runs", "--limit", "0").code == 2


def test_a_database_without_runs_says_so(prompt: Prompt) -> None:
    assert prompt("runs").out == "no runs yet\n"
    assert "no database planrail.db" in prompt("show", "r1").err
    assert "no database planrail.db" in prompt("resume", "r1").err
    assert list(prompt.folder.glob("*.db*")) == []


@pytest.mark.parametrize(
    "words", [["runs"], ["show", "r1"], ["steps", "r1"], ["resume", "r1"], ["approve", "r1"], ["demo"]]
)
@pytest.mark.parametrize("database", ["/", "missing/runs.db"])
def test_a_database_that_can_be_none_is_told_by_every_command(
    prompt: Prompt, words: list[str], database: str
) -> None:
    said = prompt(*words, "--db", database, "--json")

    assert said.code == 4
    assert said.document["error"]["code"] == "store_unavailable"
    assert "folder" in said.err
    assert "pass" in said.err


def test_check_without_tools_checks_the_rest(prompt: Prompt) -> None:
    good = prompt.plan(step("s1", "whatever", args={"any": 1}))
    assert prompt("check", "--plan", good).code == 0
    assert prompt("check", "--plan", good, "--tools", "mytools.py").code == 2

    wrong = prompt("check", "--plan", prompt.plan(step("s1", "x", depends_on=["s9"])), "--json")
    assert wrong.code == 2
    assert [(each["code"], each["step_id"]) for each in wrong.document["problems"]] == [
        ("unknown_dependency", "s1")
    ]


def test_check_draws_the_plan(prompt: Prompt) -> None:
    path = prompt.plan(LOOK, SAVE)

    assert "s2" in prompt("check", "--plan", path).out
    assert prompt("check", "--plan", path, "--mermaid").out.splitlines()[0].startswith(("flowchart", "graph"))


def test_an_error_in_json_mode_is_a_document_too(prompt: Prompt) -> None:
    said = prompt("show", "nobody", "--json")

    assert said.code == 2
    assert said.document["error"]["code"] == "no_such_run"
    assert said.document["error"]["message"] in said.err


def test_a_fault_of_planrail_itself_is_one_line(prompt: Prompt) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError("oh")

    prompt.patch.setattr(working, "start", broken)
    said = prompt.run(LOOK)

    assert said.code == 1
    assert said.err.count("\n") == 1
    assert "ZeroDivisionError: oh" in said.err

    prompt.patch.setenv("PLANRAIL_DEBUG", "1")
    assert "Traceback" in prompt.run(LOOK).err


def test_tool_output_cannot_steer_the_terminal(prompt: Prompt) -> None:
    said = prompt.run(step("s1", "look", args={"what": "\x1b[2J\u202egone"}))

    assert said.code == 0
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err


def test_the_version_is_told(prompt: Prompt) -> None:
    said = prompt("--version")

    assert said.code == 0
    assert said.out.startswith("planrail 0.")


@pytest.mark.parametrize("words", [[], ["--help"], ["run", "--help"]])
def test_help_is_no_error(prompt: Prompt, words: list[str]) -> None:
    said = prompt(*words)

    assert said.code == 0
    assert "Usage: planrail" in said.out


def test_the_database_and_the_tools_may_come_from_the_environment(prompt: Prompt) -> None:
    prompt.patch.setenv("PLANRAIL_DB", "mine.db")
    prompt.patch.setenv("PLANRAIL_TOOLS", os.fspath(Path("mytools.py")))

    said = prompt("run", "--plan", prompt.plan(LOOK), "--json")

    assert said.code == 0
    assert json.loads(said.out)["status"] == "succeeded"
    assert (prompt.folder / "mine.db").exists()
