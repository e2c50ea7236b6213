"""Another plan is weighed before it is asked for: what cannot fit into a budget is not begun."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.build import build_graph
from graph.plan import Plan
from nodes.decide.budget import NOTHING, Limits, Used
from nodes.decide.weighing import LEAST_PLAN_TOKENS, planning_need, redoing_need, why_too_dear
from tests.budget.support import Counting, Office, call, plan_of, think
from tools import HardToolError, policy

PLAN = Plan.from_json(
    {"goal": "g", "steps": [call("a", "look"), think("b", "a"), call("c", "put", "b"), think("d")]}
)


def test_planning_is_one_call_about_as_long_as_what_it_replaces() -> None:
    little = planning_need(500, PLAN, [], None)
    much = planning_need(500, PLAN, ["a", "b", "c", "d"], None)

    assert (little.model_calls, little.input_tokens, little.output_tokens) == (1, 500, LEAST_PLAN_TOKENS)
    assert much.output_tokens > little.output_tokens


def test_a_lost_step_is_one_call_with_what_such_calls_took_so_far() -> None:
    need = redoing_need(PLAN.steps[:2], Used(4, 0, 400, 80), None)

    assert (need.model_calls, need.tool_calls, need.input_tokens, need.output_tokens) == (1, 1, 100, 20)


@given(st.integers(0, 5_000), st.integers(1, 5_000), st.integers(1, 5_000))
def test_it_is_refused_exactly_when_it_does_not_fit(spent: int, wanted: int, limit: int) -> None:
    why = why_too_dear(Limits(tokens=limit), Used(1, 0, spent), Used(1, 0, wanted))

    assert (why is not None) == (spent + wanted > limit)


def test_the_sentence_says_how_much_it_takes_and_what_is_left() -> None:
    why = why_too_dear(Limits(tokens=1_000), Used(1, 0, 700), Used(1, 0, 400))

    assert why == "another plan would take about 400 tokens, and 300 of the 1000 of max_tokens are left"
    assert why_too_dear(Limits(), Used(9, 9, 900), Used(1, 0, 400)) is None
    assert why_too_dear(Limits(cost=1.0), NOTHING, Used(1, 0, 5, 5, 1.5)) is not None


def lost_tool() -> Any:
    @policy(effect="read")
    async def lose(what: str) -> str:
        """Find nothing, ever."""
        raise HardToolError("not_found", f"{what} is not there")

    return lose


@pytest.mark.parametrize(
    ("limits", "asked", "named"),
    [
        ({"max_tokens": 100}, 0, "max_tokens"),
        ({"max_tool_calls": 1}, 0, "max_tool_calls"),
        ({"max_model_calls": 0}, 0, "max_model_calls"),
        ({"max_cost": 0.1, "prices": {"*": {"input": 1_000, "output": 1_000}}}, 0, "max_cost"),
        ({"max_tokens": 100_000, "max_tool_calls": 3}, 1, None),
    ],
)
def test_a_replan_that_cannot_fit_is_not_asked_for(
    limits: dict[str, Any], asked: int, named: str | None
) -> None:
    again = {"goal": "g", "steps": [call("b", "look")]}
    model = Counting(say=lambda _: json.dumps(again))
    graph = build_graph(tools=[*Office().tools(), lost_tool()], models=model, settings=limits)

    document = graph.invoke(plan_of(call("a", "lose")))

    assert model.calls == asked
    assert document["replans"] == asked
    if named is not None:
        assert "another plan would take about" in document["reason"]
        assert named in document["reason"]
        assert document["status"] == "failed"
