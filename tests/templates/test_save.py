"""A plan that ran becomes a template: its values become parameters, its goal a rule."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, Plan, Scope, parse_plan, resolve
from graph.plan.templates import Template, TemplateError, match_rules, read_template, template_of, to_yaml


def _plan(goal: str, *args: JSON, params: JSON = None, instruction: str | None = None) -> Plan:
    steps: list[Any] = [
        {"id": f"s{n}", "action": "tool", "tool": "t", "args": {"a": a}, "title": f"about {a}"}
        for n, a in enumerate(args)
    ]
    if instruction is not None:
        steps.append({"id": "ask", "action": "llm", "instruction": instruction})
    plan, problems = parse_plan({"goal": goal, "steps": steps, "params": params})
    assert plan is not None, problems
    return plan


def _saved(plan: Plan, **values: str) -> Template:
    template = template_of(plan, "mine", values)
    assert read_template(to_yaml(template)) == template
    return template


def _args(plan: Plan) -> list[JSON]:
    steps: Any = plan.to_json()["steps"]
    scope = Scope(steps={"s0": {"x": "was here"}}, params=plan.params)
    return [resolve(step.get("args", {}).get("a", step.get("instruction")), scope) for step in steps]


def test_a_value_becomes_a_parameter_in_every_place() -> None:
    plan = _plan("refund A1234", "A1234", "order A1234 now", instruction="about A1234: ${s0.x}")

    filled = _saved(plan, order="A1234").fill({"order": "B9"})

    assert _args(filled) == ["B9", "order B9 now", "about B9: was here"]
    assert filled.goal == "refund B9"
    assert filled.steps[1].title == "about order B9 now"


def test_what_only_contains_the_value_stays() -> None:
    filled = _saved(_plan("A1 and A12", "A1", "A12", "xA1"), id="A1").fill({"id": "B9"})

    assert _args(filled) == ["B9", "A12", "xA1"]


def test_a_number_becomes_a_number_and_stays_text_inside_text() -> None:
    template = _saved(_plan("pay 12.5", 12.5, "12.5", "12.5 EUR"), amount="12.5")

    assert template.params["amount"].type == "number"
    assert _args(template.fill({"amount": "7"})) == [7, "7", "7 EUR"]


def test_the_goal_becomes_a_rule_that_finds_other_values() -> None:
    template = _saved(
        _plan("refund A1234  to ada@x.com", "A1234", "ada@x.com"), order="A1234", to="ada@x.com"
    )

    (match,) = match_rules([template], "Refund B9 to bob@y.org")

    assert match.params == {"order": "B9", "to": "bob@y.org"}
    assert match_rules([template], "please refund B9 to bob@y.org") == ()


def test_a_goal_that_does_not_name_every_value_gives_no_rule() -> None:
    assert _saved(_plan("the usual", "A1234"), order="A1234").match == ()


def test_params_of_the_plan_stay_parameters() -> None:
    template = _saved(_plan("refund A1", "${params.order}", params={"order": "A1"}))

    assert _args(template.fill({"order": "B2"})) == ["B2"]
    assert match_rules([template], "refund B3")[0].params == {"order": "B3"}


def test_a_value_becomes_a_parameter_in_conditions_and_in_calls_beside_the_step_too() -> None:
    steps: list[Any] = [
        {
            "id": "s0",
            "action": "tool",
            "tool": "t",
            "args": {"a": 5},
            "expect": "result.n > 50 && result.id == 'A1'",
        },
        {
            "id": "s1",
            "action": "tool",
            "tool": "t",
            "args": {"a": "A12"},
            "when": "${s0.id in ['A1', \"A12\"]}",
            "fallback": {"tool": "u", "args": {"b": "about A1"}},
        },
        {
            "id": "all",
            "action": "map",
            "over": ["A1"],
            "step": {"action": "tool", "tool": "t", "args": {"a": "A1"}},
        },
    ]
    plan, problems = parse_plan({"goal": "do A1", "steps": steps})
    assert plan is not None, problems

    template = _saved(plan, order="A1", most="50")

    assert (template.params["order"].type, template.params["most"].type) == ("str", "int")
    filled: Any = template.fill({"order": "B2", "most": "7"}).to_json()
    assert filled["params"] == {"order": "B2", "most": 7}
    first, second, each = filled["steps"]
    assert first["expect"] == "result.n > params.most && result.id == params.order"
    assert second["when"] == 's0.id in [params.order, "A12"]'
    assert second["fallback"]["args"] == {"b": "about ${params.order}"}
    assert (each["over"], each["step"]["args"]) == (["${params.order}"], {"a": "${params.order}"})


def test_a_value_that_is_nowhere_is_refused() -> None:
    with pytest.raises(TemplateError, match="A9"):
        template_of(_plan("g", "A1"), "mine", {"order": "A9"})


def test_a_name_that_no_file_could_have_is_refused() -> None:
    with pytest.raises(TemplateError, match="name"):
        template_of(_plan("g", "A1"), "../mine", {})


@given(st.text(max_size=40), st.text(alphabet="AB12${}. 单", min_size=1, max_size=6))
def test_filling_in_the_old_value_gives_the_old_arguments(around: str, value: str) -> None:
    literal = f"{around} {value}".replace("${", "$${")
    plan, _ = parse_plan(
        {"goal": "g", "steps": [{"id": "s0", "action": "tool", "tool": "t", "args": {"a": literal}}]}
    )
    if plan is None or not value.strip() or value != value.strip():
        return
    try:
        template = template_of(plan, "mine", {"x": value})
    except TemplateError:
        return

    assert _args(template.fill({"x": value})) == _args(plan)
