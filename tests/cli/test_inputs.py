"""What a command is given is judged before anything else happens."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.cli.errors import NoSuchQuestion, UsageProblem
from graph.cli.inputs import checked_goal, read_json_object
from graph.cli.invocation import command_line
from graph.cli.questions import choose_question
from graph.cli.setups import absolute, new_setup
from graph.state import Settings
from tests.cli.support import Prompt, step

SETTINGS = Settings(max_goal_chars=50)


@given(st.text())
def test_a_goal_is_usable_or_refused_by_name(text: str) -> None:
    try:
        goal = checked_goal(text, SETTINGS)
    except UsageProblem as error:
        assert "goal" in str(error)  # noqa: PT017 - both ways out are fine
    else:
        assert goal == text
        assert goal.strip()
        assert len(goal.encode()) <= 4 * SETTINGS.max_goal_chars


@given(st.one_of(st.text(), st.recursive(st.none(), st.lists).map(json.dumps)))
def test_an_option_is_a_json_object_or_refused_by_name(text: str) -> None:
    try:
        assert isinstance(read_json_object(text, "--args"), dict)
    except UsageProblem as error:
        assert "--args" in str(error)  # noqa: PT017 - both ways out are fine


@pytest.mark.parametrize("text", ['{"n": NaN}', "[" * 100_000, "{'single': 1}", "3", "null"])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="--args"):
        read_json_object(text, "--args")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1))
def test_a_printed_command_means_its_words_again(words: list[str]) -> None:
    line = command_line(*words, database="my runs.db")
    assert shlex.split(line)[1:] == [*words, "--db", "my runs.db"]


def test_the_default_database_is_not_repeated_in_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANRAIL_DB", raising=False)
    assert shlex.split(command_line("resume", "r1", database="planrail.db"))[1:] == ["resume", "r1"]
    monkeypatch.setenv("PLANRAIL_DB", "other.db")
    assert shlex.split(command_line("resume", "r1", database="other.db"))[1:] == ["resume", "r1"]
    assert "--db planrail.db" in command_line("resume", "r1", database="planrail.db")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("shop.tools", "shop.tools"),
        ("shop.tools:ALL", "shop.tools:ALL"),
        ("tools.py", "{folder}/tools.py"),
        ("sub/tools.py:ALL", "{folder}/sub/tools.py:ALL"),
    ],
)
def test_a_tools_file_is_kept_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute(spec) == expected.format(folder=tmp_path.as_posix())


def test_later_words_about_a_run_are_laid_over_the_first() -> None:
    first = new_setup("shop.tools", ["approve_at=low"])
    later = first.with_changes(None, ["approve_at=never"])
    assert (later.tools, later.settings) == ("shop.tools", ("approve_at=low", "approve_at=never"))
    assert first.with_changes("other.tools", []).tools == "other.tools"


OPEN = [
    {"id": "ap-1", "step": "s1", "kind": "approval"},
    {"id": "ap-2", "step": "s2", "kind": "approval"},
    {"id": "ap-3", "step": "s3", "kind": "outcome"},
]


def test_a_question_is_found_by_step_or_id_or_by_being_the_only_one() -> None:
    assert choose_question(OPEN, "approval", "s2", "r1") == OPEN[1]
    assert choose_question(OPEN, "approval", "ap-1", "r1") == OPEN[0]
    assert choose_question(OPEN, "outcome", None, "r1") == OPEN[2]


@pytest.mark.parametrize(
    ("pending", "named", "told"),
    [
        (OPEN, None, r"s1 \(ap-1\), s2 \(ap-2\)"),
        (OPEN, "s9", r"no such pending approval: s9.*s3 \(ap-3\)"),
        (OPEN, "s3", "another kind of answer: decide"),
        ([], None, "r1 has no open question"),
    ],
)
def test_an_answer_that_fits_no_question_lists_what_is_open(
    pending: list[dict[str, str]], named: str | None, told: str
) -> None:
    with pytest.raises(NoSuchQuestion, match=told):
        choose_question(pending, "approval", named, "r1")


def test_a_step_for_a_model_is_refused_where_there_is_none(prompt: Prompt) -> None:
    asking = {"id": "s2", "action": "llm", "instruction": "judge"}

    said = prompt.run(step("s1", "look", args={"what": "it"}), asking)

    assert said.code == 2
    assert "s2 asks a model" in said.err
    assert "OPENAI_API_KEY" in said.err
    assert prompt.calls() == []
