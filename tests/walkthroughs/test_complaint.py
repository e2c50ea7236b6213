"""The complaint's variants: what each leaves in its shop, how it ends, and why."""

import re
from typing import Any

import pytest

from graph.demo import RECORDED_JUDGEMENT
from graph.demo.complaint_answers import recorded_answer
from tests.cli.support import Prompt, Said
from tests.support.openai_server import OpenAIServer, text
from tools.shop import Shop, open_shop


def _demo(prompt: Prompt, variant: str, *more: str) -> Said:
    return prompt("demo", "complaint", "--variant", variant, "--run-id", "r", *more)


def _shown(prompt: Prompt) -> dict[str, Any]:
    return prompt("show", "r", "--json").document


def _steps(prompt: Prompt) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in _shown(prompt)["steps"]}


def _shop(prompt: Prompt, variant: str) -> Shop:
    return open_shop(prompt.folder / f"planrail-shop-{variant}.db")


def _sent(shop: Shop) -> list[tuple[str, str]]:
    return [(str(row["recipient"]), str(row["text"])) for row in shop.rows("outbox")]


def test_an_unknown_order_is_looked_up_once_and_the_user_is_asked_for_its_number(prompt: Prompt) -> None:
    said = _demo(prompt, "unknown-order")

    assert said.code == 3
    assert "RECORDED" in said.out
    assert "will be tried again" not in said.err
    assert said.err.count("the shop has no order 'A9999'") == 2
    document = _shown(prompt)
    assert document["replans"] == 1
    assert document["usage"]["model_calls"] == 1
    assert document["usage"]["tool_calls"] == 3
    (question,) = document["pending"]
    assert "请核对并确认您的订单号" in question["args"]["question"]
    assert "请核对并确认您的订单号" in said.out
    assert _sent(_shop(prompt, "unknown-order")) == []


def test_the_number_that_the_user_confirms_is_worked_on(prompt: Prompt) -> None:
    _demo(prompt, "unknown-order")

    answered = prompt("answer", "r", "s5", "--text", " A1234 ")

    assert answered.code == 3
    (question,) = _shown(prompt)["pending"]
    assert question["args"] == {"order_id": "A1234", "text": RECORDED_JUDGEMENT}
    assert prompt("approve", "r").code == 0
    assert _sent(_shop(prompt, "unknown-order")) == [("li.wei@example.com", RECORDED_JUDGEMENT)]


def test_a_number_that_is_wrong_again_ends_the_run_with_the_reason(prompt: Prompt) -> None:
    _demo(prompt, "unknown-order")

    assert prompt("answer", "r", "s5", "--text", "不知道").code == 1

    document = _shown(prompt)
    assert document["status"] == "partial"
    assert "order_not_found: the shop has no order '不知道'" in document["reason"]
    assert "请查明订单号" in document["reason"]
    assert document["effects"] == []
    assert _sent(_shop(prompt, "unknown-order")) == []


def test_with_logistics_down_the_reply_rests_on_an_older_result_and_says_how_old(prompt: Prompt) -> None:
    said = _demo(prompt, "logistics-down")

    assert said.code == 3
    assert said.err.count("will be tried again") == 2
    steps = _steps(prompt)
    assert steps["s2"]["status"] == "succeeded"
    assert steps["s2"]["attempts"] == 3
    assert steps["s2"]["stale"] is True
    assert steps["s2"]["age_seconds"] >= 1.5
    assert "the logistics service is down until" in steps["s2"]["note"]
    earlier = prompt("show", "r-before", "--json").document
    assert earlier["status"] == "succeeded"
    assert earlier["steps"][0]["output"] == steps["s2"]["output"]

    assert prompt("approve", "r", "s4").code == 0

    ((recipient, reply),) = _sent(_shop(prompt, "logistics-down"))
    assert recipient == "li.wei@example.com"
    told = re.search(r"(\d+) 秒前查到的", reply)
    assert told is not None
    assert int(told[1]) == round(steps["s2"]["age_seconds"])
    assert re.search(r"Not up to date: look up its shipment is \d+ s old", _shown(prompt)["answer"])


def test_an_outage_of_one_demo_is_over_when_the_next_begins(prompt: Prompt) -> None:
    _demo(prompt, "logistics-down")
    prompt("demo", "complaint", "--variant", "logistics-down", "--run-id", "again")

    before = prompt("show", "again-before", "--json").document
    assert "stale" not in before["steps"][0]
    assert prompt("demo", "complaint", "--run-id", "other").code == 3
    (lookup,) = [s for s in prompt("show", "other", "--json").document["steps"] if s["id"] == "s2"]
    assert "stale" not in lookup


def test_a_cancelled_order_breaks_the_plan_and_another_one_explains(prompt: Prompt) -> None:
    said = _demo(prompt, "auto-cancelled")

    assert said.code == 3
    assert "the plan no longer holds" in said.err
    document = _shown(prompt)
    assert document["replans"] == 1
    assert [(row["id"], row["status"]) for row in document["steps"]] == [
        ("s1", "succeeded"),
        ("s2", "succeeded"),
        ("s5", "succeeded"),
        ("s6", "waiting"),
    ]
    (question,) = document["pending"]
    assert question["args"]["order_id"] == "A1236"

    assert prompt("approve", "r").code == 0

    ((recipient, reply),) = _sent(_shop(prompt, "auto-cancelled"))
    assert recipient == "omar.said@example.com"
    assert "系统自动取消(cancelled by the system: payment not confirmed)" in reply
    assert "补偿" not in reply
    assert _shop(prompt, "auto-cancelled").rows("refunds") == []
    assert prompt("steps", "r").code == 0


def test_a_refund_above_the_limit_waits_with_its_amount_and_is_paid_once_approved(prompt: Prompt) -> None:
    assert _demo(prompt, "refund").code == 3
    shop = _shop(prompt, "refund")
    (question,) = _shown(prompt)["pending"]
    assert (question["step"], question["tool"]) == ("s3", "issue_refund")
    assert question["args"] == {"order_id": "A1234", "amount": 259.0}
    assert "double(amount) > 100" in question["reason"]
    assert shop.rows("refunds") == []
    assert _sent(shop) == []

    approved = prompt("approve", "r", "s3")

    assert approved.code == 0
    assert [(row["order_id"], row["amount_cents"]) for row in shop.rows("refunds")] == [("A1234", 25900)]
    assert "全额退款 259.00 元" in _sent(shop)[0][1]
    assert "refund 1 of order A1234: 259.00" in approved.out


def test_a_rejected_refund_is_neither_paid_nor_promised(prompt: Prompt) -> None:
    _demo(prompt, "refund")

    assert prompt("reject", "r", "s3", "--reason", "it is about to be sent", "--then", "stop").code == 1

    shop = _shop(prompt, "refund")
    assert shop.rows("refunds") == []
    assert _sent(shop) == []


def test_a_refund_below_the_limit_waits_for_nobody_however_often_it_is_shown(prompt: Prompt) -> None:
    for number in range(2):
        words = ("demo", "complaint", "--variant", "small-refund", "--run-id", f"r{number}")
        assert prompt(*words).code == 0
    shop = _shop(prompt, "small-refund")
    assert [(row["order_id"], row["amount_cents"]) for row in shop.rows("refunds")] == [("A1238", 3900)]
    assert len(_sent(shop)) == 1


def test_a_variant_runs_in_processes_of_its_own(prompt: Prompt) -> None:
    for words, code in (
        (("demo", "complaint", "--variant", "refund", "--run-id", "r"), 3),
        (("approve", "r", "s3"), 0),
    ):
        process = prompt.spawn(*words)
        said = process.communicate(timeout=60)
        assert process.returncode == code, said
    assert len(_shop(prompt, "refund").rows("refunds")) == 1


@pytest.mark.parametrize(("variant", "calls"), [("unknown-order", 1), ("auto-cancelled", 4)])
def test_with_an_endpoint_verdicts_and_plans_are_asked_of_it(
    prompt: Prompt, variant: str, calls: int
) -> None:
    def reply(body: dict[str, Any]) -> Any:
        asked = "\n\n".join(str(each.get("content")) for each in body["messages"])
        shape = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        return text(recorded_answer(f'{asked}\n"broken_assumption"' if shape == "verdict" else asked))

    with OpenAIServer(reply) as server:
        for name, value in server.environment.items():
            prompt.patch.setenv(name, value)
        said = _demo(prompt, variant)

    assert said.code == 3, said.err
    assert "RECORDED" not in said.out
    assert len(server.requests) == calls


def test_the_pictures_show_branches_approvals_and_what_comes_after_what(prompt: Prompt) -> None:
    prompt.patch.setenv("OPENAI_API_KEY", "nobody-is-asked")
    words = ("plan", "--tools", "tools.shop", "-p", "order_id=A1234", "--mermaid", "--template")
    refund = prompt(*words, "complaint-refund").out
    assert re.search(r'n1 -\. "s2\.status .*waiting_for_stock.*lost.*" \.-> n2', refund)
    assert "n2 --> n3" in refund
    standard = prompt(*words, "complaint").out
    assert "send the reply<br/>high risk, approval" in standard
    assert {"n0 --> n2", "n1 --> n2", "n2 --> n3"} <= {line.strip() for line in standard.splitlines()}


def test_the_standard_reply_stays_what_it_was(prompt: Prompt) -> None:
    said = prompt("demo", "--run-id", "r")
    assert RECORDED_JUDGEMENT in said.out
    assert _shown(prompt)["usage"]["model_calls"] == 1
