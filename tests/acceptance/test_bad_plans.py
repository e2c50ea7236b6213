"""Plans and goals nobody can work on: one clear line with the remedy, before any tool is called."""

import json
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, Inline
from tests.acceptance.support import GOOD, build, by_id, given, plan, step, thread, write
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0

TEXT = json.dumps(P0, ensure_ascii=False)


@pytest.mark.parametrize(
    ("content", "naming"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("not a plan", "", id="prose"),
        pytest.param(TEXT[: len(TEXT) // 2], "", id="cut off"),
        pytest.param(b"\xff\xfe\x00\x01\x80", "", id="binary"),
        pytest.param(b'{"goal": "caf\xe9", "steps": []}', "", id="latin-1"),
        pytest.param("[1, 2]", "", id="a list"),
        pytest.param("null", "", id="null"),
        pytest.param("3", "", id="a number"),
        pytest.param('{"goal": "g"}', "steps", id="no steps"),
        pytest.param('{"goal": "g", "steps": []}', "", id="empty steps"),
        pytest.param('{"goal": "g", "steps": {"s1": 1}}', "steps", id="steps as an object"),
        pytest.param('{"goal": "g", "steps": [1]}', "steps", id="a step as a number"),
        pytest.param("[" * 200_000, "", id="too deep"),
        pytest.param('{"goal": "g", "steps": ' + "[" * 5000 + "]" * 5000 + "}", "", id="too deep but closed"),
        pytest.param(plan(step("s1", "web_serch", {"query": "q"})), "web_serch", id="unknown tool"),
        pytest.param(plan(step("s1", "web_search", {})), "query", id="missing argument"),
        pytest.param(
            plan(step("s1", "web_search", {"query": "q", "colour": 1})), "colour", id="extra argument"
        ),
        pytest.param(plan(write("s1", risk="reckless")), "risk", id="unknown risk"),
        pytest.param(plan(write("s1", require_approval="yes")), "require_approval", id="yes for a flag"),
        pytest.param(plan(write("s1", on_dependency_failure="maybe")), "on_dependency_failure", id="policy"),
        pytest.param(plan(write("s1", timeout=-1)), "timeout", id="negative timeout"),
        pytest.param(plan(write("s1", max_attempts=0)), "max_attempts", id="no attempts"),
        pytest.param(plan(write("s1", "${nowhere.x}")), "nowhere", id="reference to nothing"),
        pytest.param(plan(write("s1", "${1 +}")), "s1", id="broken expression"),
        pytest.param(plan(write("s1", "${s1.x}")), "s1", id="reference to itself"),
        pytest.param(plan({"id": "s1", "action": "dance"}), "dance", id="unknown action"),
        pytest.param(plan({"id": "s1", "action": "tool"}), "tool", id="no tool"),
        pytest.param('{"goal": "\\ud800", "steps": []}', "", id="half a character"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(
    inline: Inline, toolbox: Toolbox, content: object, naming: str
) -> None:
    inline.run(content).refused(2, naming=naming)

    assert toolbox.calls() == []


def test_a_plan_file_that_cannot_be_read_is_named(inline: Inline, toolbox: Toolbox) -> None:
    arguments = ("--tools", str(toolbox.path), "--db", "runs.db", "--json")

    inline("run", "--plan", "nowhere.json", *arguments).refused(2, naming="nowhere.json")
    (inline.line.folder / "folder.json").mkdir()
    inline("run", "--plan", "folder.json", *arguments).refused(2, naming="folder.json")
    inline("run", "--plan", "", *arguments).refused(2)
    inline("run", "--plan", "-", *arguments).refused(2)
    inline("run", "--plan", "-", *arguments, stdin=b"\xff\xfe").refused(2)


def test_a_refusal_is_the_same_in_a_process_of_its_own(cli: CommandLine, toolbox: Toolbox) -> None:
    cyclic = plan(
        step("a", "web_search", {"query": "q"}, depends_on=["b"]),
        step("b", "web_search", {"query": "q"}, depends_on=["a"]),
    )

    line = cli.run(cyclic).refused(2, naming="cycle")

    assert "a" in line
    assert "b" in line
    assert toolbox.calls() == []


def test_a_refused_plan_leaves_the_run_id_free(inline: Inline, toolbox: Toolbox) -> None:
    inline.run(plan(step("s1", "web_serch", {}))).refused(2)

    assert inline.run(GOOD).code == 0
    assert len(toolbox.calls("web_search")) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT.replace("}]}", "},]}"), id="trailing comma"),
        pytest.param(str(P0), id="single quotes"),
        pytest.param(TEXT.replace('"query": "q"', '"query": "q", "x": None'), id="None"),
        pytest.param(TEXT.replace('"steps"', '/* c */ "steps"'), id="comment"),
        pytest.param("\ufeff" + TEXT, id="byte order mark"),
        pytest.param(TEXT.replace(', "steps"', '， "steps"'), id="full-width comma"),
        pytest.param(TEXT.replace('"goal": "g"', "“goal”: “g”"), id="smart quotes"),
        pytest.param(json.dumps(TEXT), id="encoded twice"),
    ],
)
def test_a_dialect_of_json_is_read_as_the_same_plan_or_refused(
    inline: Inline, toolbox: Toolbox, text: str
) -> None:
    ran = inline.run(text)

    if ran.code == 2:
        ran.refused(2)
        assert toolbox.calls() == []
        return
    assert ran.code == 3, ran.text
    shown = ran.document["plan"]
    assert shown["goal"] == "g"
    assert [(each["id"], each["tool"]) for each in shown["steps"]] == [
        ("s1", "web_search"),
        ("s2", "write_file"),
    ]
    assert toolbox.calls("web_search") == [{"query": "q"}]


def test_full_width_punctuation_inside_a_value_survives(inline: Inline, toolbox: Toolbox) -> None:
    text = "你好，世界“引号”：完"

    assert inline.run(plan(write("s1", text))).code == 0
    assert toolbox.calls("write_file")[0]["content"] == text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(inline: Inline, toolbox: Toolbox, number: str) -> None:
    text = json.dumps(plan(write("s1", "NUMBER"))).replace('"NUMBER"', number)

    inline.run(text).refused(2)
    assert toolbox.calls() == []


def test_half_a_character_in_an_argument_harms_nothing(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(json.dumps(plan(write("s1", "\ud800"), step("s2", "web_search", {"query": "q"}))))

    if ran.code == 2:
        assert toolbox.calls() == []
    else:
        assert ran.document["status"] in {"succeeded", "failed", "partial"}
        assert by_id(ran.document)["s2"]["status"] == "succeeded"


GOALS = [
    pytest.param("", id="empty"),
    pytest.param(" \n\t ", id="blank"),
    pytest.param("x" * 1_000_000, id="1 MB"),
    pytest.param("a\x00b", id="NUL"),
]


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_nobody_can_work_on_is_refused(inline: Inline, toolbox: Toolbox, goal: str) -> None:
    path = inline.line.write_plan(GOOD, "good.json")
    arguments = ("--tools", str(toolbox.path), "--db", "runs.db", "--json")

    inline.run({**GOOD, "goal": goal}).refused(2, naming="goal")
    inline("run", goal, "--plan", path, *arguments).refused(2, naming="goal")
    inline("run", goal, *arguments).refused(2, naming="goal")

    assert toolbox.calls() == []


def test_neither_goal_nor_plan_is_refused(inline: Inline, toolbox: Toolbox) -> None:
    inline("run", "--tools", str(toolbox.path), "--db", "runs.db").refused(2, naming="--plan")


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("own_plan", [True, False], ids=["with a plan", "alone"])
def test_the_graph_refuses_such_a_goal_too(toolbox: Toolbox, goal: str, *, own_plan: bool) -> None:
    graph = build(toolbox)

    with pytest.raises(Exception, match=r"(?i)goal") as caught:
        graph.invoke({"goal": goal, "plan": {**GOOD, "goal": goal} if own_plan else None})

    assert type(caught.value).__name__ in {"InputError", "PlanError"}
    assert len(str(caught.value)) < 2000
    assert toolbox.calls() == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"goal": "g", "steps": []}, id="empty"),
        pytest.param({"goal": "g", "steps": [step("s1", "web_serch", {})]}, id="unknown tool"),
        pytest.param([1, 2], id="a list"),
        pytest.param("{", id="text"),
    ],
)
def test_the_graph_refuses_a_wrong_plan_by_name(toolbox: Toolbox, wrong: Any) -> None:
    with pytest.raises(Exception, match=r"\S") as caught:
        build(toolbox).invoke({"goal": "g", "plan": wrong})

    assert type(caught.value).__name__ in {"InputError", "PlanError"}
    assert toolbox.calls() == []


def test_the_same_plan_as_a_dict_is_taken_by_the_graph(toolbox: Toolbox) -> None:
    result = build(toolbox).invoke(given(GOOD), thread())

    assert result["status"] == "succeeded"
