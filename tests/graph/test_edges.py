"""The edges read a decision that is in the state and nothing else."""

from typing import Any, cast

import pytest
from langgraph.types import Send

from graph.edges import after_executor, after_planner, after_replanner, after_scheduler, after_validator
from graph.state import GraphState

MOVES = ("execute", "ask", "replan", "report")


def _state(move: str, *steps: str, alone: tuple[str, ...] = ()) -> GraphState:
    return cast(GraphState, {"dispatch": {"move": move, "steps": list(steps), "alone": list(alone)}})


@pytest.mark.parametrize(("plan", "node"), [({"steps": []}, "scheduler"), (None, "reporter")])
def test_a_plan_is_scheduled_and_an_answer_without_one_reported(plan: Any, node: str) -> None:
    assert after_planner(cast(GraphState, {"plan": plan})) == node
    assert after_planner(cast(GraphState, {})) == "reporter"


def test_each_ready_step_gets_an_executor_that_is_told_its_id_only() -> None:
    sent = after_scheduler(_state("execute", "a", "b"))
    assert sent == [Send("executor", {"step": "a"}), Send("executor", {"step": "b"})]


def test_each_question_gets_a_task_of_its_own_and_a_tools_own_question_its_tool() -> None:
    sent = after_scheduler(_state("ask", "a", "b", alone=("b",)))
    assert sent == [Send("approval", {"step": "a"}), Send("executor", {"step": "b", "alone": True})]


@pytest.mark.parametrize(
    ("edge", "nodes"),
    [
        (after_scheduler, {"replan": "replanner", "report": "reporter"}),
        (after_executor, {"execute": "validator", "ask": "scheduler"}),
        (
            after_validator,
            {"execute": "scheduler", "ask": "scheduler", "replan": "replanner", "report": "scheduler"},
        ),
        (
            after_replanner,
            {"execute": "scheduler", "ask": "scheduler", "replan": "scheduler", "report": "reporter"},
        ),
    ],
)
def test_where_a_move_leads(edge: Any, nodes: dict[str, str]) -> None:
    assert {move: edge(_state(move, "a")) for move in nodes} == nodes
