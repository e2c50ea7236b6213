"""Templates at the prompt: listed, run, saved of a run, and found again by rule."""

from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # the distribution has no types

from tests.cli.support import Prompt, step

KEEP = """
name: keep
description: keep a word
params: {word: {type: str}, times: {type: int, default: 1}}
match: [{regex: "keep (?P<word>[a-z]+) safe"}]
plan:
  goal: keep ${params.word} safe
  steps:
    - {id: s1, action: tool, tool: save, args: {text: "${params.word}"}}
"""


@pytest.fixture
def keeping(prompt: Prompt) -> Prompt:
    """A prompt in a folder with a template of its own."""
    folder = prompt.folder / "planrail_templates"
    folder.mkdir()
    (folder / "keep.yaml").write_text(KEEP, encoding="utf-8")
    return prompt


def _run(prompt: Prompt, *words: str) -> Any:
    return prompt("run", *words, "--tools", "mytools.py", "--json")


def test_templates_are_listed_with_their_parameters(keeping: Prompt) -> None:
    said = keeping("templates")

    assert said.code == 0
    assert "keep" in said.out
    assert "word times" in said.out
    assert "complaint" in said.out


def test_the_list_says_which_do_not_go_with_the_tools(keeping: Prompt) -> None:
    listed = keeping("templates", "--tools", "mytools.py", "--json").document["templates"]

    faults = {each["name"]: each["faults"] for each in listed}
    assert faults["keep"] == []
    assert "there is no tool 'query_order'" in faults["complaint"]


def test_a_bad_template_is_named_and_the_others_are_listed(keeping: Prompt) -> None:
    (keeping.folder / "planrail_templates" / "bad.yaml").write_text("name: [", encoding="utf-8")

    said = keeping("templates")

    assert said.code == 0
    assert "bad.yaml: line 1" in said.err
    assert "keep" in said.out


def test_a_named_template_runs_with_its_parameters(keeping: Prompt) -> None:
    said = _run(keeping, "--template", "keep", "-p", "word=honey")

    assert said.code == 0
    assert said.document["answer"] == "honey"
    assert said.document["plan"]["author"] == "template:keep"
    assert said.document["plan"]["params"] == {"word": "honey", "times": 1}


def test_a_goal_that_a_rule_fits_runs_without_a_model(keeping: Prompt) -> None:
    said = _run(keeping, "please keep honey safe")

    assert said.code == 0
    assert said.document["answer"] == "honey"
    assert "template keep version 1" in said.err


def test_other_goals_still_need_a_model(keeping: Prompt) -> None:
    said = _run(keeping, "eat the honey")

    assert said.code == 2
    assert said.document["error"]["code"] == "no_model"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--template", "keep"), "-p word=VALUE"),
        (("--template", "keep", "-p", "word"), "-p NAME=VALUE"),
        (("--template", "keep", "-p", "word=a", "-p", "word=b"), "twice"),
        (("--template", "keep", "-p", "wird=a"), "no parameter 'wird'"),
        (("--template", "keep", "-p", "word=a", "-p", "times=often"), "whole number"),
        (("--template", "kept"), "did you mean keep?"),
        (("--template", "complaint", "-p", "order_id=A1234"), "there is no tool 'query_order'"),
        (("a goal", "-p", "word=a"), "--template"),
        (("--template", "keep", "--plan", "x.json"), "exclude each other"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    keeping: Prompt, words: tuple[str, ...], told: str
) -> None:
    said = keeping("run", *words, "--tools", "mytools.py")

    assert said.code == 2
    assert told in said.err
    assert said.err.count("\n") == 1
    assert not (keeping.folder / "planrail.db").exists()


LOOK = step("s1", "look", args={"what": "A1234"})
SAVE = step("s2", "save", args={"text": "${s1.found} is A1234"})


def _finished(prompt: Prompt) -> None:
    plan = prompt.plan(LOOK, SAVE, goal="look A1234 up")
    assert prompt("run", "--plan", plan, "--tools", "mytools.py", "--run-id", "r1").code == 0


def test_a_run_that_succeeded_is_saved_and_found_again_by_rule(prompt: Prompt) -> None:
    _finished(prompt)

    saved = prompt("template", "save", "r1", "lookup", "-p", "order=A1234")

    assert saved.code == 0, saved.err
    assert "--template lookup -p order=VALUE" in saved.out
    said = _run(prompt, "look B9 up")
    assert said.document["plan"]["author"] == "template:lookup"
    assert said.document["answer"] == "B9 is B9"


def test_a_saved_template_holds_the_tools_as_they_are(prompt: Prompt) -> None:
    _finished(prompt)
    prompt("template", "save", "r1", "lookup", "-p", "order=A1234")
    source = (prompt.folder / "mytools.py").read_text("utf-8")
    changed = source.replace("def look(what: str)", "def look(what: str, deep: bool = False)")
    (prompt.folder / "newtools.py").write_text(changed, encoding="utf-8")

    said = prompt("run", "--template", "lookup", "-p", "order=B9", "--tools", "newtools.py")

    assert said.code == 2
    assert "tool 'look' has changed" in said.err


def test_saving_again_needs_replace_and_counts_the_version_up(prompt: Prompt) -> None:
    _finished(prompt)
    words = ("template", "save", "r1", "lookup", "--to", "mine")

    assert prompt(*words).code == 0
    again = prompt(*words)
    replaced = prompt(*words, "--replace")

    assert again.code == 2
    assert "--replace" in again.err
    assert replaced.code == 0
    text = (prompt.folder / "mine" / "lookup.yaml").read_text("utf-8")
    assert yaml.safe_load(text)["version"] == 2


def test_a_run_that_did_not_succeed_is_no_template(prompt: Prompt) -> None:
    prompt.run(LOOK, step("s2", "save", args={"text": "x"}, require_approval=True))

    said = prompt("template", "save", "r1", "lookup")

    assert said.code == 2
    assert "waiting" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nobody", "x"), "no run"),
        (("r1", "../x"), "name"),
        (("r1", "x", "-p", "order=Z9"), "'Z9'"),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_no_file(
    prompt: Prompt, words: tuple[str, ...], told: str
) -> None:
    _finished(prompt)

    said = prompt("template", "save", *words)

    assert said.code == 2
    assert told in said.err
    assert not (prompt.folder / "planrail_templates").exists()


def test_a_secret_is_not_written_into_a_template(prompt: Prompt) -> None:
    module = prompt.folder / "mytools.py"
    secret = '@policy(effect="write", idempotent=True, redact=frozenset({"text"}))'
    plain = '@policy(effect="write", idempotent=True)'
    module.write_text(module.read_text("utf-8").replace(plain, secret), encoding="utf-8")
    prompt.run(step("s1", "save", args={"text": "hunter2"}))

    refused = prompt("template", "save", "r1", "login")
    saved = prompt("template", "save", "r1", "login", "-p", "text=hunter2")

    assert refused.code == 2
    assert "-p text=VALUE" in refused.err
    assert saved.code == 0
    assert "hunter2" not in (prompt.folder / "planrail_templates" / "login.yaml").read_text("utf-8")


def test_the_demo_is_the_shipped_template(prompt: Prompt) -> None:
    assert prompt("demo", "--json").document["plan"]["author"] == "template:complaint"
