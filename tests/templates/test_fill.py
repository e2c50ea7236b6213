"""Filling a template: typed parameters, and the plan that comes out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, Scope, resolve
from graph.plan.templates import Param, Template, TemplateError
from tests.templates.support import GREETING

TEMPLATE = Template.model_validate(GREETING)


def test_a_filled_template_is_a_plan_by_its_name_with_the_params_in_it() -> None:
    plan = TEMPLATE.fill({"who": "Ada", "times": "2"})

    assert plan.author == "template:greeting"
    assert plan.params == {"who": "Ada", "times": 2, "tone": "warm"}
    assert plan.goal == "greet Ada"
    assert plan.steps[0].title == "a hello for Ada"
    scope = Scope(steps={}, params=plan.params)
    args: Any = plan.to_json()["steps"]
    assert resolve(args[0]["args"], scope) == {"name": "Ada", "times": 2}


def test_each_plan_of_a_template_is_another_plan() -> None:
    assert TEMPLATE.fill({"who": "Ada"}).plan_id != TEMPLATE.fill({"who": "Ada"}).plan_id


def test_the_callers_words_are_the_goal_when_there_are_any() -> None:
    assert TEMPLATE.fill({"who": "Ada"}, goal="be nice").goal == "be nice"


@pytest.mark.parametrize(
    ("given_params", "words"),
    [
        ({}, "needs who"),
        ({"who": "Ada", "wh0": "x"}, "no parameter 'wh0'.*who"),
        ({"who": "Ada", "times": "two"}, "whole number"),
        ({"who": "Ada", "times": 1.5}, "whole number"),
        ({"who": "Ada", "times": True}, "whole number"),
        ({"who": "Ada", "tone": "hot"}, "warm, cool"),
        ({"who": ["Ada"]}, "text"),
        ({"who": "  "}, "text"),
        ({"who": "a\0b"}, "NUL"),
    ],
)
def test_parameters_that_do_not_fit_are_named(given_params: dict[str, JSON], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        TEMPLATE.fill(given_params)


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (Param(type="bool"), "True", True),
        (Param(type="number"), "-1.50", -1.5),
        (Param(type="number"), "3", 3),
        (Param(type="int"), " 7 ", 7),
        (Param(type="enum", choices=("Red", "Blue")), "blue", "Blue"),
        (Param(pattern=r"[A-Z]\d+"), "A1", "A1"),
    ],
)
def test_text_is_read_as_the_type_declared(param: Param, text: str, value: JSON) -> None:
    read = param.read(text)

    assert (read, type(read)) == (value, type(value))


def test_a_pattern_holds_for_the_whole_text() -> None:
    with pytest.raises(ValueError, match="pattern"):
        Param(pattern=r"[A-Z]\d+").read("A1; drop")


@given(
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=50).filter(str.strip)
)
def test_a_parameter_reaches_the_step_as_it_is_whatever_it_holds(who: str) -> None:
    plan = TEMPLATE.fill({"who": who})
    step: Any = plan.to_json()["steps"]

    assert resolve(step[0]["args"]["name"], Scope(steps={}, params=plan.params)) == who.strip()
