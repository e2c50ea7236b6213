"""Plans as immutable data, also across checkpoints."""

import pickle

import pytest
from hypothesis import given
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import ValidationError

from graph.plan import JSON, OnDependencyFailure, Plan, Risk, ToolStep, canonical_json, max_risk, parse_plan
from tests.plan.fakes import plan_of, tool
from tests.plan.strategies import good_plan_data
from tests.support.plans import P0


@given(good_plan_data())
def test_a_plan_round_trips_through_json_exactly(data: dict[str, JSON]) -> None:
    plan, _ = parse_plan(data)
    assert plan is not None
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert canonical_json(again.to_json()) == canonical_json(plan.to_json())
    assert parse_plan(plan) == (plan, ())


def test_defaults_are_left_out_of_the_json() -> None:
    assert plan_of(tool("s1", q="x")).to_json() == {
        "plan_id": "p",
        "revision": 1,
        "author": "caller",
        "goal": "g",
        "steps": [{"id": "s1", "action": "tool", "tool": "read", "args": {"q": "x"}}],
    }


def test_enums_keep_their_type_through_a_strict_checkpoint_of_the_plan_json() -> None:
    plan, _ = parse_plan(P0)
    assert plan is not None
    serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    restored = Plan.from_json(serde.loads_typed(serde.dumps_typed(plan.to_json())))
    step = restored.step("s2")
    assert restored == plan
    assert step.risk is Risk.HIGH
    assert step.on_dependency_failure is OnDependencyFailure.ABORT
    assert isinstance(step, ToolStep)
    assert isinstance(step.depends_on, tuple)


def test_a_pickled_plan_that_was_looked_into_is_equal_to_one_that_was_not() -> None:
    plan = plan_of(tool("s1"), tool("s2"))
    plan.step("s1")
    assert pickle.loads(pickle.dumps(plan)) == plan_of(tool("s1"), tool("s2"))


def test_a_copy_with_other_steps_finds_its_own_steps() -> None:
    plan = plan_of(tool("s1"))
    plan.step("s1")
    other = plan.model_copy(update={"steps": plan_of(tool("s2")).steps})
    assert other.step("s2").id == "s2"
    with pytest.raises(KeyError):
        other.step("s1")


def test_a_plan_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(plan_of(tool("s1")), "goal", "other")  # noqa: B010 - the type checker refuses it as well


def test_the_highest_risk_wins() -> None:
    assert max_risk(Risk.LOW, Risk.HIGH, Risk.MEDIUM) is Risk.HIGH
    assert [risk.rank for risk in Risk] == [0, 1, 2]


def test_a_plan_shows_itself_as_mermaid_in_a_notebook() -> None:
    shown = plan_of({**tool("s1"), "title": "a <br/> b"})._repr_markdown_()
    assert shown == '```mermaid\nflowchart TD\n    n0["s1\na #60;br/#62; b"]\n```'
