"""`send_email` with a real SMTP server on loopback."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.plan import JSON, Risk
from tests.builtin.postoffice import PASSWORD, PostOffice, post_office
from tools import CallFailed, CallOutcome, CallSucceeded, ToolRegistry, call_tool, reconcile
from tools.builtin.mail import email_tool
from tools.builtin.mail_settings import SmtpSettings

LETTER: dict[str, JSON] = {"to": "王芳 <wang@example.com>", "subject": "销售周报", "text": "您好\n.\n..dot\n"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    with post_office(tmp_path) as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "reports").mkdir(parents=True)
    (folder / "reports" / "周报 W9.html").write_text("<p>您好</p>", "utf-8")
    (folder / "large.bin").write_bytes(b"x" * 200_000)
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    return folder


def _tools(settings: SmtpSettings, **options: Any) -> ToolRegistry:
    return ToolRegistry.of(email_tool(settings, **options))


async def _send(
    settings: SmtpSettings, letter: dict[str, JSON] | None = None, key: str = "k1", **options: Any
) -> CallOutcome:
    tool = _tools(settings, **options)["send_email"]
    args = {**LETTER, **(letter or {})}
    assert tool.args_problems(args) == []
    return await call_tool(tool, args, key=key)


async def _failure(
    settings: SmtpSettings, letter: dict[str, JSON] | None = None, **options: Any
) -> CallFailed:
    outcome = await _send(settings, letter, **options)
    assert isinstance(outcome, CallFailed), outcome
    assert PASSWORD not in outcome.message
    return outcome


async def test_a_mail_arrives_as_written(office: PostOffice, workspace: Path) -> None:
    more: dict[str, JSON] = {"html": "<p>您好</p>", "attachments": ["reports/周报 W9.html"]}
    more["to"] = ["王芳 <wang@example.com>", "ann@example.com"]
    outcome = await _send(office.settings(), more, workspace=workspace)
    assert outcome == CallSucceeded(
        {
            "message_id": "<k1@example.com>",
            "to": ["wang@example.com", "ann@example.com"],
            "subject": "销售周报",
            "bytes": len(office.received[0]),
        }
    )
    (mail,) = office.mails
    assert office.envelopes == [("reports@example.com", ["wang@example.com", "ann@example.com"])]
    assert (mail["Message-ID"], mail["Subject"]) == ("<k1@example.com>", "销售周报")
    assert mail["From"].addresses[0].display_name == "周报 Bot"
    assert [address.display_name for address in mail["To"].addresses] == ["王芳", ""]
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert page is not None
    assert text.get_content().splitlines() == ["您好", ".", "..dot"]
    assert page.get_content().strip() == "<p>您好</p>"
    (file,) = mail.iter_attachments()
    assert (file.get_filename(), file.get_content()) == ("周报 W9.html", "<p>您好</p>")


async def test_lines_that_begin_with_dots_survive(office: PostOffice) -> None:
    await _send(office.settings(), {"text": ".\n..\n.x\nend\n."})
    assert office.mails[0].get_content().splitlines() == [".", "..", ".x", "end", "."]


async def test_implicit_tls_works_too(tmp_path: Path) -> None:
    with post_office(tmp_path, implicit=True) as office:
        outcome = await _send(office.settings(security="implicit"))
        assert isinstance(outcome, CallSucceeded), outcome
        assert len(office.mails) == 1


async def test_a_server_on_this_machine_needs_neither_tls_nor_login(tmp_path: Path) -> None:
    with post_office(tmp_path, tls_context=None, require_starttls=False, auth_required=False) as office:
        plain = office.settings(security="none", username=None, password=None)
        assert isinstance(await _send(plain), CallSucceeded)
        failure = await _failure(office.settings())
    assert (failure.kind, failure.code) == ("hard", "mail_server")
    assert "STARTTLS" in failure.message


@pytest.mark.parametrize("security", ["starttls", "implicit"])
async def test_a_certificate_that_is_not_trusted_is_a_hard_failure(tmp_path: Path, security: str) -> None:
    with post_office(tmp_path, implicit=security == "implicit") as office:
        unknown = await _failure(office.settings(security=security, ca_file=None))
        misnamed = await _failure(office.settings(security=security, host="localhost"))
    for failure in (unknown, misnamed):
        assert (failure.kind, failure.code) == ("hard", "bad_certificate"), failure
    assert office.received == []


async def test_a_wrong_password_is_a_hard_failure(office: PostOffice) -> None:
    failure = await _failure(office.settings(password="not this one"))
    assert (failure.kind, failure.code) == ("hard", "mail_login")
    assert "not this one" not in failure.message


async def test_a_server_that_is_not_there_is_a_soft_failure(office: PostOffice) -> None:
    with socket.socket() as taken:  # bound and not listening: nothing can be there
        taken.bind(("127.0.0.1", 0))
        failure = await _failure(office.settings(port=taken.getsockname()[1]))
    assert (failure.kind, failure.code) == ("soft", "soft_tool_error")


async def test_a_server_that_says_nothing_is_a_soft_failure(office: PostOffice) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        failure = await _failure(office.settings(port=silent.getsockname()[1], timeout_seconds=0.1))
    assert failure.kind == "soft"


@pytest.mark.parametrize("word", ["MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(
    ("reply", "kind", "code"),
    [
        ("450 busy, come back", "soft", "soft_tool_error"),
        ("421 going down", "soft", "soft_tool_error"),
        ("550 not here", "hard", "mail_refused"),
        (f"554 I know {PASSWORD}", "hard", "mail_refused"),
    ],
)
async def test_a_refusal_says_whether_later_or_never(
    office: PostOffice, word: str, reply: str, kind: str, code: str
) -> None:
    office.answers[word] = reply
    failure = await _failure(office.settings())
    assert (failure.kind, failure.code) == (kind, code)
    assert reply[:8] in failure.message
    assert office.received == []


async def test_one_refused_recipient_keeps_the_mail_from_all(office: PostOffice) -> None:
    replies = iter(["250 OK", "550 unknown"])
    office.answers["RCPT"] = lambda: next(replies)
    failure = await _failure(office.settings(), {"to": ["a@x.com", "b@x.com"]})
    assert failure.kind == "hard"
    assert "b@x.com" in failure.message
    assert office.received == []


@pytest.mark.parametrize(("word", "kind"), [("MAIL", "soft"), ("RCPT", "soft"), ("DATA", "unknown")])
async def test_only_a_connection_lost_after_the_mail_leaves_a_doubt(
    office: PostOffice, tmp_path: Path, word: str, kind: str
) -> None:
    office.answers[word] = "cut"
    book: dict[str, Any] = {"sent_mail": tmp_path / "sent.db"}
    failure = await _failure(office.settings(), **book)
    assert failure.kind == kind
    tool = _tools(office.settings(), **book)["send_email"]
    found = await reconcile(tool, LETTER, key="k1")
    assert found.happened == ("unknown" if kind == "unknown" else "not_done")


async def test_an_answer_that_does_not_come_leaves_a_doubt(office: PostOffice) -> None:
    office.answers["DATA"] = "4"  # aiosmtpd sends it as it is, and it is no reply
    failure = await _failure(office.settings())
    assert failure.kind == "unknown"


async def test_a_try_that_ran_out_of_time_is_over_once_it_is_told_not_sent(
    office: PostOffice, tmp_path: Path
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        asked.set()
        go_on.wait(30)
        return "250 OK"

    office.answers["RCPT"] = slow
    tool = _tools(office.settings(), sent_mail=tmp_path / "sent.db")["send_email"]
    sending = asyncio.create_task(call_tool(tool, LETTER, key="k1", timeout=20))
    await asyncio.to_thread(asked.wait, 20)
    assert (await reconcile(tool, LETTER, key="k1")).happened == "not_done"
    go_on.set()
    late = await sending
    assert isinstance(late, CallFailed)
    assert (late.kind, office.received) == ("soft", [])
    del office.answers["RCPT"]
    assert isinstance(await call_tool(tool, LETTER, key="k1"), CallSucceeded)
    assert len(office.received) == 1


async def test_a_mail_of_one_key_is_sent_once(office: PostOffice, tmp_path: Path) -> None:
    book: dict[str, Any] = {"sent_mail": tmp_path / "sent.db"}
    first = await _send(office.settings(), **book)
    again = await _send(office.settings(), **book)
    other = await _send(office.settings(), key="k2", **book)
    assert first == again != other
    assert [mail["Message-ID"] for mail in office.mails] == ["<k1@example.com>", "<k2@example.com>"]
    found = await reconcile(_tools(office.settings(), **book)["send_email"], LETTER, key="k1")
    assert isinstance(first, CallSucceeded)
    assert (found.happened, found.output) == ("done", first.output)


async def test_without_a_book_every_call_sends_and_nothing_is_reconciled(office: PostOffice) -> None:
    await _send(office.settings())
    await _send(office.settings())
    assert [mail["Message-ID"] for mail in office.mails] == ["<k1@example.com>"] * 2
    assert _tools(office.settings())["send_email"].policy.reconcile is None


@pytest.mark.parametrize(
    ("letter", "code"),
    [
        ({"to": "nobody"}, "bad_address"),
        ({"to": "a@x.com\r\nBcc: eve@evil.example"}, "header_injection"),
        ({"subject": "x\nBcc: eve@evil.example"}, "header_injection"),
        ({"subject": ""}, "bad_subject"),
        ({"text": ""}, "empty_message"),
        ({"attachments": ["none.pdf"]}, "not_found"),
        ({"attachments": ["../secret.txt"]}, "outside_workspace"),
        ({"attachments": ["reports"]}, "is_a_folder"),
        ({"attachments": ["large.bin"]}, "too_large"),
        ({"text": "x" * 200_000}, "too_large"),
        ({"to": [f"a{n}@x.com" for n in range(51)]}, "too_many_recipients"),
    ],
)
async def test_what_must_not_be_sent_never_reaches_the_server(
    workspace: Path, tmp_path: Path, letter: dict[str, JSON], code: str
) -> None:
    nowhere = SmtpSettings(host="127.0.0.1", port=1, security="none", sender="a@x.com", max_bytes=100_000)
    failure = await _failure(nowhere, letter, workspace=workspace, sent_mail=tmp_path / "sent.db")
    assert (failure.kind, failure.code) == ("hard", code)


async def test_a_mail_larger_than_the_server_takes_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with post_office(tmp_path, data_size_limit=5_000) as office:
        failure = await _failure(office.settings(), {"text": "x" * 10_000})
    assert (failure.kind, failure.code) == ("hard", "too_large")
    assert "5000" in failure.message


async def test_attachments_need_a_workspace(office: PostOffice) -> None:
    assert (await _failure(office.settings(), {"attachments": ["a.txt"]})).code == "no_workspace"


def test_the_policy_is_that_of_a_risky_write_whose_recipients_are_not_made_up(office: PostOffice) -> None:
    tool = _tools(office.settings())["send_email"]
    assert (tool.effect, tool.risk, tool.policy.repeatable) == ("write", Risk.HIGH, False)
    assert tool.grounded == {"to"}
    assert tool.key_argument == "key"
