"""The judging of office tasks itself, on scripted replies."""

from pathlib import Path
from typing import Any

import pytest

from tests.local_model.other_tasks import OTHER_TASKS
from tests.local_model.running import Outcome, _holds, decide, run_task
from tests.local_model.table import table, tables
from tests.local_model.tasks import TASKS, Task
from tests.support.openai_server import OpenAIServer, Reply, obj

BY_NAME = {task.name: task for task in (*TASKS, *OTHER_TASKS)}


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


@pytest.mark.parametrize("tasks", [TASKS, OTHER_TASKS])
def test_there_are_tasks_of_every_kind_in_each_list(tasks: tuple[Task, ...]) -> None:
    assert len(tasks) >= 20
    assert {task.kind for task in tasks} == {"read", "write", "branch", "impossible"}


def test_no_two_tasks_have_the_same_name_or_goal() -> None:
    both = (*TASKS, *OTHER_TASKS)
    assert len(BY_NAME) == len({task.goal for task in both}) == len(both)


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


async def test_each_list_has_a_table_and_rates_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    right = await judged("no such tool", tmp_path / "one", CANNOT)
    wrong = await judged("leap year", tmp_path / "two", CANNOT)
    found = tables([right, wrong])
    assert list(found) == ["office tasks", "other office tasks"]
    assert "finished right: 1 of 1 (100 %) (impossible 1 of 1 (100 %))" in found["office tasks"]
    assert "finished right: 0 of 1 (0 %) (read 0 of 1 (0 %))" in found["other office tasks"]
    assert list(tables([wrong])) == ["other office tasks"]


WORDINGS = {
    "carrier": (["YTO Express carried it.", "由YTO承运"], ["SF Express", "YT700237"]),
    "why cancelled": (
        [
            "cancelled by the system: payment not confirmed",
            "The payment could not be confirmed.",
            "Payment confirmation was never received.",
            "因为付款未确认，系统取消了订单。",
        ],
        ["It was cancelled by the system.", "The payment was confirmed late.", "The customer did not pay."],
    ),
    "promised": (
        ["2026-03-05", "March 5, 2026", "the 5th of March", "Mar. 5", "2026年3月5日"],
        ["2026-02-26", "March 15", "2026-03-04", "March 50"],
    ),
    "total": (["117", "117.00", "78.00 + 39.00 = 117.0."], ["1117", "117.50", "78.00", "11.7"]),
    "Paket": (
        [
            "Das Paket ging in Zhengzhou verloren.",
            '{"status": "lost", "location": "Zhengzhou"}',
            "Es wurde vom Spediteur verloren, zuletzt in 郑州.",
        ],
        [
            "Es liegt in Zhengzhou.",
            "Es ging verloren.",
            "Es ist nicht verloren: es liegt in Zhengzhou.",
            "It hasn't been lost: it is in Zhengzhou.",
        ],
    ),
    "哪个订单": (["陈静下的是A1238。"], ["A1237", "A1237 和 A1238"]),
    "几件": (
        ["2", "一共买了2件。", "两盏台灯", "Two.", '{"quantity": 2}'],
        ["1 件", "42", "2026-02-26", "2月"],
    ),
    "下单日": (
        ["2026-02-10", "2月10日", "2026年02月10日", "February 10th"],
        ["2026-02-17", "12月10日", "2月1日"],
    ),
    "lost parcel": (
        [
            "We are sorry that your parcel was lost.",
            "We apologise that it went missing.",
            "很抱歉，您的包裹丢失了。",
        ],
        ["Your parcel was lost.", "Sorry, we have closed.", "We refund your order."],
    ),
    "copy": (
        ["From: Omar Said. My order A1236 was cancelled and I want my money back.\n"],
        ["complaint.txt", "Copy: From: Omar Said. My order A1236 was cancelled and I want my money back."],
    ),
    "both late": (
        ["Your order is delayed.", "It will come later than promised.", "您的订单延误了"],
        ["Your order isn't delayed.", "Your order has been shipped.", "See you later."],
    ),
    "entregado": (
        ["Su paquete ya fue entregado.", "Your parcel has been delivered.", "您的包裹已签收。"],
        ["Su paquete será entregado pronto.", "Your parcel has not been delivered.", "Gracias."],
    ),
    "盘点": (
        [
            "KET-02: 0\nCHR-07: 3",
            "CHR-07：3件，KET-02：0件。",
            "KET-02 和 CHR-07 的库存：0, 3.",
            "KET-02（2026-03-09 到货）0，CHR-07 3",
        ],
        [
            "KET-02: 3\nCHR-07: 0",
            "CHR-07: 0, KET-02: 3",
            "KET-02: 0",
            "CHR-07: 3",
            "2026-03-09",
            "KET-02, CHR-07",
        ],
    ),
    "reorder": (["reorder", "Reorder.\n"], ["enough", "reorder, or enough"]),
    "没货": (
        ["下次到货日期是2026年3月9日。", "It comes on 2026-03-09."],
        ["今天发货", "今天发货，或 2026-03-09", "没货"],
    ),
}


@pytest.mark.parametrize("name", WORDINGS)
def test_right_wordings_are_told_from_wrong_ones(name: str) -> None:
    task = BY_NAME[name]
    right, wrong = WORDINGS[name]
    for pattern in filter(None, (task.answer, *task.replies.values(), *task.files.values())):
        assert [text for text in right if not _holds(text, pattern)] == []
        assert [text for text in wrong if _holds(text, pattern)] == []
