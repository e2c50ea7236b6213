"""The book of sent mails, on a real file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from graph.plan import JSON
from tools import HardToolError, SoftToolError
from tools.builtin.mail_log import SentMail

OUTPUT: dict[str, JSON] = {"message_id": "<k@example.com>", "subject": "周报"}


@pytest.fixture
def book(tmp_path: Path) -> SentMail:
    return SentMail(tmp_path / "sent 邮件.db")


def test_a_mail_that_was_sent_is_known_with_its_result(book: SentMail) -> None:
    sending = book.begin("k")
    sending.handing_over()
    sending.sent(OUTPUT)
    assert book.ask("k") == ("done", OUTPUT)
    assert SentMail(book.path).found("k") == OUTPUT
    assert book.found("other") is None


def test_a_mail_that_was_refused_was_not_sent(book: SentMail) -> None:
    sending = book.begin("k")
    sending.handing_over()
    sending.refused()
    assert book.ask("k") == "not_done"
    assert book.found("k") is None


def test_a_mail_that_was_handed_over_without_an_answer_stays_in_doubt(book: SentMail) -> None:
    book.begin("k").handing_over()
    assert book.ask("k") == book.ask("k") == "unknown"


def test_a_mail_that_nobody_began_here_stays_in_doubt(book: SentMail) -> None:
    assert book.ask("k") == "unknown"


def test_a_mail_found_not_sent_is_not_sent_afterwards_either(book: SentMail) -> None:
    straggler = book.begin("k")
    assert book.ask("k") == "not_done"
    with pytest.raises(SoftToolError, match="taken back"):
        straggler.handing_over()
    straggler.sent(OUTPUT)
    assert book.ask("k") == "not_done"


def test_another_try_takes_the_place_of_the_first(book: SentMail) -> None:
    straggler, second = book.begin("k"), book.begin("k")
    with pytest.raises(SoftToolError, match="taken back"):
        straggler.handing_over()
    second.handing_over()
    straggler.refused()
    second.sent(OUTPUT)
    assert book.ask("k") == ("done", OUTPUT)


def test_a_busy_book_is_a_soft_failure_and_a_broken_one_a_hard_one(
    book: SentMail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.builtin.mail_log._BUSY_SECONDS", 0.05)
    sending = book.begin("k")
    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SoftToolError, match="busy"):
            sending.handing_over()
    book.path.write_bytes(b"no database" * 1000)
    with pytest.raises(HardToolError, match="cannot be used") as caught:
        book.begin("k")
    assert caught.value.code == "sent_mail"
    sending.sent(OUTPUT)  # the mail is sent: what cannot be noted must not make it fail
