"""What a run that its budget ends says of a write that a killed process had begun."""

import pytest

from checkpoints import StepEntry
from graph.plan import Plan, RunStatus, StepStatus
from graph.state import effects
from nodes.decide.outcome import cancel_rest, final_status
from nodes.lanes.board import Board
from nodes.progress import closed_entries
from tests.budget.support import Counting
from tests.endpoint.support import session_of

PLAN = Plan.from_json(
    {"goal": "g", "plan_id": "p", "steps": [{"id": "a", "action": "tool", "tool": "put", "args": {}}]}
)


@pytest.mark.parametrize(
    ("effect", "status", "expected"),
    [
        ("write", StepStatus.RUNNING, StepStatus.UNKNOWN),
        ("read", StepStatus.RUNNING, StepStatus.CANCELLED),
        ("write", StepStatus.WAITING, StepStatus.CANCELLED),
    ],
)
def test_a_write_that_had_begun_is_in_doubt_and_never_told_as_not_run(
    effect: str, status: StepStatus, expected: StepStatus
) -> None:
    entry = StepEntry.model_validate(
        {"run_id": "r", "plan_id": "p", "revision": 1, "step_id": "a", "action": "tool", "tool": "put"}
        | {"effect": effect, "status": status}
    )

    closed = cancel_rest(PLAN, {"a": StepStatus.PENDING}, {"a": entry})
    by_an_agent = cancel_rest(PLAN, {"a": StepStatus.PENDING}, {"a#0": entry.model_copy(update={"item": 0})})

    assert closed == by_an_agent == {"a": expected}


def test_an_agents_write_that_had_begun_is_told_as_an_effect_in_doubt() -> None:
    fields = {"run_id": "r", "plan_id": "p", "revision": 1, "step_id": "a", "action": "agent"}
    step = StepEntry.model_validate({**fields, "status": "running"})
    inner = step.model_copy(update={"item": 0, "tool": "put", "effect": "write"})
    session = session_of(Counting())
    session.board = Board(PLAN, {"a": step, "a#0": inner}, gate=lambda _step: False)

    closed = closed_entries(session, {"a": StepStatus.UNKNOWN})

    assert {entry.key: entry.status for entry in closed} == dict.fromkeys(("a", "a#0"), StepStatus.UNKNOWN)
    assert [effect["status"] for effect in effects(session.board.entries)] == ["unknown"]


def test_a_run_of_which_nothing_was_begun_is_rejected_only_by_a_person() -> None:
    assert final_status(PLAN, {"a": StepStatus.CANCELLED}) is RunStatus.FAILED
    assert final_status(PLAN, {"a": StepStatus.REJECTED}) is RunStatus.REJECTED
