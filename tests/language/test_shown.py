"""Branches, expectations and fallbacks as people see them."""

import json

import pytest

from graph.plan import StepStatus, parse_plan, to_mermaid, to_text
from graph.state import Settings
from nodes.decide.forecast import Past, forecast
from tests.cli.support import Prompt
from tests.language.support import Office, step

PLAN = {
    "goal": "answer",
    "plan_id": "p",
    "params": {"go": True},
    "steps": [
        step("kind", "look", fallback="ask", when="params.go"),
        step("pay", "send", when="kind.of == 'refund \"x\"'", expect="result.ok"),
        step("reply", "send", when="kind.of != 'refund'", depends_on=["pay"]),
        step("log", "look", depends_on=["pay", "reply"]),
    ],
}


def test_a_flowchart_bears_the_conditions_where_they_are_asked() -> None:
    plan, problems = parse_plan(PLAN)
    assert plan is not None, problems

    drawn = to_mermaid(plan, {"pay": StepStatus.NOT_TAKEN}).splitlines()

    assert '    n0["kind<br/>tool look<br/>when params.go, else ask"]' in drawn
    assert '    n0 -. "kind.of #61;#61; #39;refund #34;x#34;#39;" .-> n1' in drawn
    assert "    n1 -.-> n2" in drawn
    assert '    n0 -. "kind.of #33;#61; #39;refund#39;" .-> n2' in drawn
    assert "    n1 --> n3" in drawn
    assert '    n1["pay<br/>tool send<br/>not_taken"]' in drawn


def test_a_text_tells_the_conditions() -> None:
    plan, _ = parse_plan(PLAN)
    assert plan is not None

    lines = to_text(plan).splitlines()

    assert "when params.go, else tool ask" in lines[1]
    assert "when kind.of == 'refund \"x\"', expects result.ok" in lines[2]


def test_a_forecast_names_what_may_not_be_taken_and_the_approvals_that_are_not_certain() -> None:
    plan, _ = parse_plan({**PLAN, "steps": [*PLAN["steps"], step("end", "look", fallback="send")]})
    assert plan is not None

    told = forecast(plan, Office().tools(send={"risk": "high"}), Settings(), Past(), None)

    assert told.conditional == ("kind", "pay", "reply", "log")
    approvals = [(each.step, each.tool, each.certain) for each in told.approvals]
    assert approvals == [("pay", "send", False), ("reply", "send", False), ("end", "send", False)]
    assert told.approvals[-1].reason == "its fallback: its risk is high"


@pytest.fixture
def branching(prompt: Prompt) -> Prompt:
    look = {"action": "tool", "tool": "look"}
    steps = [
        {"id": "first", **look, "args": {"what": "甲"}},
        {"id": "不要", **look, "args": {"what": "b"}, "when": "first.found == '乙'"},
        {"id": "then", **look, "args": {"what": "c"}, "depends_on": ["不要", "first"]},
    ]
    assert prompt.run(*steps).code == 0
    return prompt


def test_show_and_steps_tell_which_condition_did_not_hold(branching: Prompt) -> None:
    shown = branching("show", "r1").out
    table = branching("steps", "r1").out
    rows = json.loads(branching("show", "r1", "--json").out)["steps"]

    assert "not_taken" in shown
    assert "first.found == '乙' is false" in shown
    assert "first.found == '乙' is false" in table
    assert [(row["status"], row.get("note")) for row in rows] == [
        ("succeeded", None),
        ("not_taken", "first.found == '乙' is false"),
        ("succeeded", None),
    ]


def test_the_plan_command_tells_of_conditions(prompt: Prompt) -> None:
    look = {"action": "tool", "tool": "look", "args": {"what": "a"}}
    name = prompt.plan({"id": "first", **look}, {"id": "then", **look, "when": "first.found == 'x'"})

    said = prompt("plan", "--plan", name, "--tools", "mytools.py")

    assert "when first.found == 'x'" in said.out
    assert "(1 step only where a condition holds)" in said.out


def test_a_fallback_is_approved_from_the_command_line_in_another_process(prompt: Prompt) -> None:
    spare = {"tool": "save", "args": {"text": "甲"}}
    look = {"id": "first", "action": "tool", "tool": "look", "args": {"what": "a"}, "risk": "high"}

    waiting = prompt.run({**look, "expect": "result.found == 'b'", "fallback": spare})
    shown = prompt("show", "r1")

    assert waiting.code == 3
    assert "save" in shown.out
    assert "text = 甲" in shown.out

    done = prompt("approve", "r1", "first")
    table = prompt("show", "r1")

    assert done.code == 0
    assert prompt.calls() == ["look"] * 3 + ["save"]
    assert "by save" in table.out
