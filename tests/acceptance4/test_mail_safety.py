"""Mail: approved first, sent once, under a name made of the step's key, never with a line too many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from graph.build import build_graph
from tests.acceptance.support import by_id, given, opened, plan, planner, statuses, step, thread
from tests.acceptance4.support import each, inner
from tests.builtin.postoffice import PostOffice, post_office
from tools import policy
from tools.builtin import email_tool

MAIL = {"to": ["ada@example.com"], "subject": "周报", "text": "Hello"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    with post_office(tmp_path) as running:
        yield running


def tool(office: PostOffice, tmp_path: Path) -> Any:
    (tmp_path / "workspace").mkdir(exist_ok=True)
    return email_tool(office.settings(), workspace=tmp_path / "workspace", sent_mail=tmp_path / "sent.db")


def test_a_mail_waits_and_goes_out_once_with_the_name_of_its_key(office: PostOffice, tmp_path: Path) -> None:
    with opened(tmp_path / "r.db") as both:
        graph = build_graph(tools=[tool(office, tmp_path)], checkpointer=both.checkpointer, store=both.store)

        waiting = graph.invoke(given(plan(step("mail", "send_email", MAIL))), thread())

        assert waiting["status"] == "waiting"
        assert office.mails == []

        done = graph.invoke(Command(resume={"mail": "approve"}), thread())

    assert done["status"] == "succeeded", done
    (mail,) = office.mails
    assert by_id(done)["mail"]["idempotency_key"] in mail["Message-ID"]
    assert mail["Subject"] == "周报"


def test_nothing_hidden_in_a_mails_head_and_no_file_from_outside(office: PostOffice, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("SECRET", "utf-8")
    mails = [
        {**MAIL, "subject": "Hi\r\nBcc: eve@example.com"},
        {**MAIL, "to": ["ada@example.com\nBcc: eve@example.com"]},
        {**MAIL, "to": ["not an address"]},
        {**MAIL, "attachments": ["../secret.txt"]},
        {**MAIL, "attachments": [str(tmp_path / "secret.txt")]},
    ]
    args = {key: f"${{item.{key}}}" for key in MAIL} | {"attachments": "${item.attachments}"}
    over = [{"attachments": [], **mail} for mail in mails]
    value = plan(each("m", "${params.mails}", inner("send_email", args, max_attempts=1), min_success=0))
    graph = build_graph(tools=[tool(office, tmp_path)], settings={"approve_at": "never", "max_replans": 0})

    result = graph.invoke({**given({**value, "params": {"mails": over}})})

    assert statuses(result)["m"] == "succeeded", result["reason"]
    failures = by_id(result)["m"]["output"]["failures"]
    assert [row["code"] for row in failures] == [
        "header_injection", "header_injection", "bad_address", "outside_workspace", "outside_workspace",
    ]  # fmt: skip
    assert office.mails == []


def test_a_model_cannot_make_up_who_gets_a_mail(office: PostOffice, tmp_path: Path) -> None:
    made_up = {"plan": {"steps": [step("mail", "send_email", {**MAIL, "to": ["eve@example.net"]})]}}
    graph = build_graph(
        tools=[tool(office, tmp_path)],
        models=planner(made_up),
        settings={"approve_at": "never", "max_replans": 0, "llm_attempts": 1},
    )

    result = graph.invoke({"goal": "write to ada@example.com"})

    assert result["success"] is False
    assert office.mails == []
    assert "ungrounded" in result["reason"] or "eve@example.net" in result["reason"]


def test_a_mail_that_was_surely_not_sent_falls_back_and_one_in_doubt_does_not(
    office: PostOffice, tmp_path: Path
) -> None:
    told: list[str] = []

    @policy(effect="write", idempotent=True, risk="low", grounded=frozenset())
    def post(text: str) -> str:
        """Put a letter in the post."""
        told.append(text)
        return text

    value = plan(step("mail", "send_email", MAIL, fallback={"tool": "post", "args": {"text": "letter"}}))
    settings = {"approve_at": "never", "max_replans": 0}
    office.answers["RCPT"] = "550 no such person"
    refused = build_graph(tools=[tool(office, tmp_path), post], settings=settings).invoke(given(value))
    office.answers.clear()
    office.answers["DATA"] = "cut"
    with opened(tmp_path / "r.db") as both:
        graph = build_graph(
            tools=[tool(office, tmp_path), post], settings=settings,
            checkpointer=both.checkpointer, store=both.store,
        )  # fmt: skip
        doubt = graph.invoke(given(value), thread())

    assert refused["status"] == "succeeded", refused["reason"]
    assert told == ["letter"]
    assert doubt["status"] == "waiting"
