"""The page on the plan language: each of its plans is checked and run, and ends as the page says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from checkpoints import open_store
from graph.build import build_graph
from graph.plan import Plan, RunStatus, StepStatus, check_plan, parse_plan
from graph.plan.expressions import FUNCTIONS
from graph.plan.normalise import ACTIONS
from graph.plan.steps import Call
from tests.cli.support import Prompt, clean_environment
from tests.docs.examples import TEXT, Example, blocks, examples
from tests.guards.source import ROOT
from tests.support.models import ScriptedModel, says
from tools import ToolRegistry, load_tools

EXAMPLES = examples()
MADE_BY_CODE = {"revision", "parent_revision", "author", "repairs", "sub_steps"}
KNOWN_WORDS = {
    "setting {}",
    "model says {}",
    "validator says {}",
    "run {}",
    "answer {}",
    "revision {}",
    "book {}",
    "{} {}",
    "{} gives {}",
    "{} fails with {}",
    "{} asks with {}",
    "problem {} in {}",
}


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolRegistry:
    """The page's tools, in a folder where they keep their book."""
    (source,) = [block for block in blocks("python") if block.startswith("# office.py")]
    (tmp_path / "office.py").write_text(source, "utf-8")
    clean_environment(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return load_tools("office.py")


def _code_of(example: Example) -> str:
    return f"line {example.line}"


@pytest.mark.parametrize("example", EXAMPLES, ids=_code_of)
def test_an_example_is_checked_and_ends_as_the_page_says(
    example: Example, office: ToolRegistry, tmp_path: Path
) -> None:
    assert {words for words, _ in example.clauses} <= KNOWN_WORDS
    plan, faults = parse_plan(example.plan)
    problems = faults or check_plan(_require(plan), office)
    assert [(each.code, each.step_id) for each in problems] == example.values("problem {} in {}"), problems
    if problems:
        return

    model, validator = _scripted(example, "model says {}"), _scripted(example, "validator says {}")
    given: dict[str, Any] = {}
    given |= {"default": model} if model else {}
    given |= {"validator": validator} if validator else {}
    with open_store(tmp_path / "runs.db") as opened:
        settings = dict(text.split("=") for text in example.texts("setting {}"))
        graph = build_graph(
            tools=office,
            models=given,
            settings={"backoff_base": 0, "agent_method": "structured", **settings},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )
        wish: Any = {"goal": example.plan["goal"], "plan": example.plan}
        document = graph.invoke(wish, {"configurable": {"thread_id": "t"}})

    _check_run(example, document)
    _check_steps(example, document)
    book = tmp_path / "book.txt"
    written = book.read_text("utf-8").splitlines() if book.exists() else []
    assert [line.partition("\t")[2] for line in written] == example.texts("book {}")
    for asked in (model, validator):
        assert asked is None or len(asked.prompts) == len(asked.lines)


def _require(plan: Plan | None) -> Plan:
    assert plan is not None
    return plan


def _scripted(example: Example, words: str) -> ScriptedModel | None:
    lines = example.texts(words)
    return says(*lines) if lines else None


def _check_run(example: Example, document: dict[str, Any]) -> None:
    assert document["status"] == example.one("run {}", "succeeded"), document["reason"]
    assert str(document["plan"]["revision"]) == example.one("revision {}", "1")
    for text in example.texts("answer {}"):
        assert document["answer"] == text


def _check_steps(example: Example, document: dict[str, Any]) -> None:
    rows = {row["id"]: row for row in document["steps"]}
    failed, asking = example.pairs("{} fails with {}"), example.pairs("{} asks with {}")
    told = {
        **dict.fromkeys(rows, "succeeded"),
        **dict.fromkeys(failed, "failed"),
        **dict.fromkeys(asking, "waiting"),
        **example.pairs("{} {}"),
    }
    assert {step_id: row["status"] for step_id, row in rows.items()} == told
    assert {step_id: rows[step_id]["error"]["code"] for step_id in failed} == failed
    asked = {each["step"]: each["args"] for each in document["pending"]}
    assert asked == {step_id: json.loads(args) for step_id, args in asking.items()}
    for step_id, output in example.pairs("{} gives {}").items():
        assert rows[step_id]["output"] == _value(output), step_id


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_every_plan_of_the_page_is_run() -> None:
    arrows = re.findall(r"^→ ", TEXT, re.MULTILINE)
    assert len(EXAMPLES) == TEXT.count("```json") == len(arrows) >= 15


def _fields(value: object) -> set[str]:
    """The names of all fields at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(_fields, value.values()))
    return set().union(*map(_fields, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("model", [Plan, Call, *ACTIONS.values()], ids=lambda model: model.__name__)
def test_every_field_is_explained_and_shown_in_a_plan_that_runs(model: type[Any]) -> None:
    names = set(model.model_fields)
    assert [name for name in sorted(names) if f"`{name}`" not in TEXT] == []
    assert names - MADE_BY_CODE - _fields([example.plan for example in EXAMPLES]) == set()


def test_every_function_and_every_action_is_named() -> None:
    assert [name for name in sorted({*FUNCTIONS, *ACTIONS}) if f"`{name}`" not in TEXT] == []


def test_every_problem_that_a_check_may_find_is_in_the_table() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "graph").rglob("*.py"))
    codes = set(re.findall(r"PlanProblem\(\s*\"(\w+)\"", sources))
    table = TEXT[TEXT.index("## What a check may find") :]
    assert len(codes) > 15
    assert [code for code in sorted(codes) if f"`{code}`" not in table] == []


def test_the_statuses_of_steps_and_runs_are_named() -> None:
    ends = TEXT[TEXT.index("## How it ends") :]
    names = {status.value for status in (*StepStatus, *RunStatus)}
    assert [name for name in sorted(names) if f"`{name}`" not in ends] == []


def test_the_page_is_read_in_one_sitting() -> None:
    assert len(TEXT.splitlines()) < 400


def test_its_commands_do_what_a_newcomer_expects(office: ToolRegistry, prompt: Prompt) -> None:
    (prompt.folder / "plan.json").write_text(json.dumps(EXAMPLES[0].plan), "utf-8")
    commands = [line.partition("#")[0].split()[1:] for line in blocks("sh")[0].splitlines()]
    assert [prompt(*words).code for words in commands] == [0, 0]
    assert "mail to ada@x.test" in (prompt.folder / "book.txt").read_text("utf-8")
