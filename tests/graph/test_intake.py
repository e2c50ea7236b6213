"""What a caller hands in is judged before anything runs, with one clear line for each fault."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from graph.intake import InputError, check_goal, read_input, read_plan
from graph.plan import Plan, PlanError
from graph.state import Engine, Settings
from tests.plan.strategies import NEAR_PLAN, WILD
from tools import ToolRegistry, policy


@policy(effect="read")
def look(q: str) -> str:
    """Look."""
    return q


ENGINE = Engine(ToolRegistry.of(look), {}, Settings.of(None))
TALKING = Engine(ToolRegistry.of(look), {"default": FakeListChatModel(responses=["x"])}, Settings.of(None))
PLAN: dict[str, Any] = {
    "goal": "g",
    "steps": [{"id": "a", "action": "tool", "tool": "look", "args": {"q": "q"}}],
}


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (None, "empty"), ("", "empty"), (" \n\t", "empty"), (7, "int"), (["g"], "list"), ("a\x00b", "NUL"),
        ("x" * 1_000_000, "1000000 characters"), ("\ud800", "surrogate"),
    ],
)  # fmt: skip
def test_a_goal_that_is_none_is_refused(goal: Any, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        read_input({"goal": goal}, TALKING)
    assert len(str(refused.value)) < 200


@given(st.text(min_size=1, max_size=30).filter(lambda text: text.strip() and "\x00" not in text))
def test_any_other_text_is_a_goal(goal: str) -> None:
    assert check_goal(goal, 100) == goal.strip()


@pytest.mark.parametrize("given_", [None, 7, "goal", ["goal"], {"gaol": "x"}, {"goal": "x", "plans": []}])
def test_an_input_of_another_shape_is_refused(given_: Any) -> None:
    with pytest.raises(InputError, match=r"give .*goal"):
        read_input(given_, TALKING)


def test_without_a_plan_there_must_be_a_model_that_makes_one() -> None:
    assert read_input({"goal": " g "}, TALKING) == {"goal": "g", "plan": None}
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        read_input({"goal": "g"}, ENGINE)


def test_the_plans_goal_stands_in_for_a_missing_one() -> None:
    assert read_input({"plan": PLAN}, ENGINE)["goal"] == "g"
    assert read_input({"goal": "other", "plan": PLAN}, ENGINE)["goal"] == "other"


def test_two_runs_of_one_plan_without_an_id_are_two_plans() -> None:
    plan = Plan.from_json(PLAN)
    ids = {read_input({"plan": each}, ENGINE)["plan"]["plan_id"] for each in (PLAN, PLAN, plan, plan)}
    assert len(ids) == 4
    named = {**PLAN, "plan_id": "mine"}
    assert read_input({"plan": named}, ENGINE)["plan"]["plan_id"] == "mine"
    assert read_input({"plan": Plan.from_json(named)}, ENGINE)["plan"]["plan_id"] == "mine"


def test_an_llm_step_needs_a_model() -> None:
    plan = {"goal": "g", "steps": [{"id": "think", "action": "llm", "instruction": "i"}]}
    with pytest.raises(PlanError, match="think") as refused:
        read_plan(plan, None, ENGINE)
    assert [problem.code for problem in refused.value.problems] == ["no_model"]
    assert read_plan(plan, None, TALKING) is not None


@given(NEAR_PLAN | WILD)
def test_any_plan_is_taken_or_refused_with_its_problems(data: Any) -> None:
    try:
        plan = read_plan(data, "g", ENGINE)
    except PlanError as refused:
        problems = refused.problems
        assert problems
        return
    assert (plan is None) is (data is None)
