"""Template files: what is read, what is refused, and that a bad one spoils no other."""

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.build import build_graph
from graph.plan.templates import TemplateError, load_templates, match_rules, read_template, to_yaml
from tests.templates.support import GREETING, hello, write


def test_the_complaint_is_shipped_and_nothing_is_wrong_with_it() -> None:
    library = load_templates()

    assert "complaint" in library.templates
    assert library.problems == ()


def test_the_template_of_the_documentation_works() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "templates.md").read_text("utf-8")
    template = read_template(page.partition("```yaml\n")[2].partition("```")[0])

    goals = ("Send a reminder for INV-7 within 30 days", "remind of INV-8")
    found = [match_rules([template], goal)[0].params for goal in goals]

    assert found == [{"invoice": "INV-7", "days": 30}, {"invoice": "INV-8", "days": 14}]
    assert template.fill(found[0]).goal == "remind of invoice INV-7"


def test_a_bad_template_is_named_and_the_others_work(tmp_path: Path) -> None:
    write(tmp_path, "good", GREETING)
    write(tmp_path, "broken", "name: broken\nplan: {steps: [}\n")

    library = load_templates([tmp_path])

    assert {"complaint", "greeting"} <= library.templates.keys()
    (problem,) = library.problems
    assert "broken.yaml: line 2" in str(problem)
    with pytest.raises(TemplateError, match=r"broken.*line 2"):
        library.require("broken")


def test_a_graph_with_a_bad_template_says_so_in_the_log_and_is_built(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "broken", "[]")

    with caplog.at_level(logging.WARNING, "planrail"):
        build_graph(tools=[hello], settings={"templates": str(tmp_path)})

    assert "broken.yaml" in caplog.text


def test_a_later_folder_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write(first, "one", GREETING)
    write(second, "other", {**GREETING, "version": 3})

    library = load_templates([first, second])

    assert library.require("greeting").version == 3
    assert Path(library.paths["greeting"]).name == "other.yaml"


def test_two_files_of_one_folder_may_not_share_a_name(tmp_path: Path) -> None:
    write(tmp_path, "one", GREETING)
    write(tmp_path, "two", GREETING)

    library = load_templates([tmp_path])

    assert "greeting" in library.templates
    assert "rename one" in str(library.problems[0])


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    assert "nowhere" in str(load_templates([tmp_path / "nowhere"]).problems[0])


def test_an_unknown_name_gets_a_close_one() -> None:
    with pytest.raises(TemplateError, match="did you mean complaint"):
        load_templates().require("complain")


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GREETING.items() if key != name}


def _with_rule(**rule: object) -> dict[str, Any]:
    return {**GREETING, "match": [rule]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_without("name"), "name"),
        (_without("plan"), "plan"),
        ({**GREETING, "surprise": 1}, "surprise"),
        ({**GREETING, "version": 0}, "version"),
        ({**GREETING, "params": {}, "match": []}, "params.times"),
        ({**GREETING, "params": {"who": {"type": "date"}}}, "who"),
        ({**GREETING, "params": {**GREETING["params"], "tone": {"type": "enum"}}}, "choices"),
        ({**GREETING, "params": {**GREETING["params"], "who": {"pattern": "("}}}, "pattern"),
        ({**GREETING, "params": {**GREETING["params"], "times": {"type": "int", "default": "x"}}}, "whole"),
        ({**GREETING, "plan": {"goal": "g", "steps": [{"id": "a"}]}}, "action"),
        ({**GREETING, "plan": {**GREETING["plan"], "plan_id": "p"}}, "plan_id"),
        (_with_rule(), "keywords"),
        (_with_rule(regex="("), "regular expression"),
        (_with_rule(keywords=["greet"]), "never gives who"),
        (_with_rule(regex="(?P<who>x)(?P<strange>y)"), "strange"),
        ("a: 1\na: 2\n", "twice"),
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("1: 2\n", "quotes"),
        ("- x\n", "object"),
        ("{" * 5000, "nested too deeply"),
        ("", "object"),
    ],
)
def test_each_fault_of_a_file_is_named(content: object, words: str, tmp_path: Path) -> None:
    path = write(tmp_path, "it", content)

    with pytest.raises(TemplateError, match=words.replace("(", "\\(")):
        read_template(path.read_text("utf-8"))


def test_words_that_yaml_takes_for_other_things_stay_text() -> None:
    said = "{id: a, action: tool, tool: hello, args: {name: no, on: 2024-01-01, at: 12:30, n: 012}}"
    template = read_template(f"name: n\nplan:\n  goal: yes\n  steps:\n  - {said}\n")

    assert template.fill({}).to_json()["steps"] == [
        {
            "id": "a",
            "action": "tool",
            "tool": "hello",
            "args": {"name": "no", "on": "2024-01-01", "at": "12:30", "n": "012"},
        }
    ]


@given(st.binary(max_size=200))
def test_no_file_makes_loading_fail(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("t")
    (folder / "x.yaml").write_bytes(content)

    library = load_templates([folder])

    assert "complaint" in library.templates
    assert len(library.problems) == 1


def test_what_is_written_reads_back_the_same() -> None:
    template = read_template(to_yaml(load_templates().require("complaint")))

    assert template == load_templates().require("complaint")
