"""The judging of office tasks itself, on scripted replies."""

from pathlib import Path
from typing import Any

import pytest

from tests.local_model.running import Outcome, decide, run_task
from tests.local_model.table import table
from tests.local_model.tasks import TASKS, Task
from tests.support.openai_server import OpenAIServer, Reply, obj

BY_NAME = {task.name: task for task in TASKS}


def planned(*calls: tuple[str, dict[str, Any]]) -> Reply:
    steps = [
        {"id": f"s{at}", "action": "tool", "tool": tool, "args": args}
        for at, (tool, args) in enumerate(calls, 1)
    ]
    return obj({"reply": {"plan": {"steps": steps, "assumptions": []}}})


LOOK = ("query_order", {"order_id": "A1236"})
REFUND = ("issue_refund", {"order_id": "${s1.order_id}", "amount": "${s1.amount}"})
UNKNOWN = planned(("steal", {}))
CANNOT = obj({"reply": {"cannot": "no tool does that"}})


async def judged(name: str, folder: Path, *replies: Reply) -> Outcome:
    task: Task = BY_NAME[name]
    with OpenAIServer(list(replies)) as server:
        return await run_task(task, folder, {"default": server.model()}, {"backoff_base": 0})


def test_there_are_tasks_of_every_kind_under_different_names() -> None:
    assert len(BY_NAME) == len(TASKS) >= 20
    assert {task.kind for task in TASKS} == {"read", "write", "branch", "impossible"}


async def test_a_right_end_state_counts_as_right(tmp_path: Path) -> None:
    outcome = await judged("refund all", tmp_path, planned(LOOK, REFUND))
    assert outcome.faults == []
    assert (outcome.validity, outcome.refused, outcome.wrong, outcome.repeated) == ("at once", 0, 0, 0)


async def test_a_plan_that_was_sent_back_counts_as_repaired(tmp_path: Path) -> None:
    outcome = await judged("refund all", tmp_path, UNKNOWN, planned(LOOK, REFUND))
    assert (outcome.right, outcome.validity, outcome.refused) == (True, "repaired", 1)


async def test_no_plan_at_all_counts_as_none(tmp_path: Path) -> None:
    outcome = await judged("refund all", tmp_path, UNKNOWN)
    assert (outcome.right, outcome.validity, outcome.refused) == (False, "none", 3)
    assert "a refund is missing" in outcome.faults


async def test_a_write_that_nobody_asked_for_counts_as_wrong(tmp_path: Path) -> None:
    outcome = await judged(
        "only if cancelled", tmp_path, planned(("query_order", {"order_id": "A1237"}), REFUND)
    )
    assert outcome.wrong == 1
    assert outcome.faults == ["a wrong write"]


async def test_a_refusal_is_right_only_where_the_request_cannot_be_met(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert (await judged("no such tool", tmp_path / "one", CANNOT)).right
    assert (await judged("status", tmp_path / "two", CANNOT)).faults == ["not the answer", "not done"]


@pytest.mark.parametrize(
    ("tool", "kind", "amount", "decision"),
    [
        ("issue_refund", "approval", 200, "approve"),
        ("issue_refund", "approval", 200.01, "reject"),
        ("issue_refund", "approval", "all", "reject"),
        ("send_reply", "approval", 0, "approve"),
        ("issue_refund", "outcome", 1, "stop"),
    ],
)
def test_the_scripted_person_pays_small_amounts_only(
    tool: str, kind: str, amount: Any, decision: str
) -> None:
    assert decide({"kind": kind, "tool": tool, "args": {"amount": amount}})["decision"] == decision


async def test_the_table_has_a_line_for_each_task_and_the_rates(tmp_path: Path) -> None:
    outcome = await judged("refund all", tmp_path, planned(LOOK, REFUND))
    lines = table([outcome])
    assert lines[1].split()[:4] == ["refund", "all", "write", "right"]
    assert "finished right: 1 of 1 (100 %) (write 1 of 1 (100 %))" in lines
    assert table([]) == []
