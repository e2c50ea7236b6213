"""The walkthroughs' mail server: what it is handed is kept as it was, whole or not at all."""

import smtplib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graph.demo import mail_drop as module
from graph.demo.mail_drop import mailbox, mails_in


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with mailbox(tmp_path / "mail") as found:
        yield found


def _send(port: int, content: bytes) -> None:
    with smtplib.SMTP("127.0.0.1", port, "here") as client:
        client.sendmail("a@example.com", ["b@example.com", "c@example.com"], content)


def test_a_mail_is_kept_byte_by_byte(port: int, tmp_path: Path) -> None:
    long = b"l" * 4_096 + b"." * 4_096 + b"\r\n"
    content = "Subject: x\r\n\r\n.\r\n..two\r\n第9周\r\n".encode() + long * 2
    _send(port, content)
    assert [mail.read_bytes() for mail in mails_in(tmp_path / "mail")] == [content]


def test_mails_at_once_are_all_kept_and_nothing_else_is_there(port: int, tmp_path: Path) -> None:
    contents = [f"Subject: {number}\r\n\r\nhello\r\n".encode() for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda content: _send(port, content), contents))
    assert sorted(path.read_bytes() for path in (tmp_path / "mail").iterdir()) == sorted(contents)


def test_of_a_mail_that_broke_off_nothing_is_kept(port: int, tmp_path: Path) -> None:
    with socket.create_connection(("127.0.0.1", port)) as line, line.makefile("rb") as said:
        for words, code in (
            (b"", b"220"),
            (b"HELO here\r\n", b"250"),
            (b"MAIL FROM:<a@example.com>\r\n", b"250"),
            (b"RCPT TO:<b@example.com>\r\n", b"250"),
            (b"DATA\r\n", b"354"),
        ):
            line.sendall(words)
            assert said.readline().startswith(code)
        line.sendall(b"Subject: half\r\n\r\nhel")
        line.shutdown(socket.SHUT_WR)
        assert said.read() == b""
    assert mails_in(tmp_path / "mail") == []


def test_what_is_out_of_place_or_unknown_is_refused_and_the_talk_goes_on(port: int, tmp_path: Path) -> None:
    with smtplib.SMTP("127.0.0.1", port, "here") as client:
        assert client.docmd("DATA")[0] == 503
        assert client.docmd("VRFY", "a@example.com")[0] == 502
        assert client.noop()[0] == 250
        client.ehlo()
        assert not client.has_extn("starttls")
        client.sendmail("a@example.com", "b@example.com", b"Subject: x\r\n\r\n")
        assert client.docmd("DATA")[0] == 503
    assert len(mails_in(tmp_path / "mail")) == 1


def test_a_mail_that_is_too_large_is_refused(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", 1_000)
    with pytest.raises(smtplib.SMTPDataError) as refused:
        _send(port, b"x" * 2_000)
    assert refused.value.smtp_code == 552
    _send(port, b"small\r\n")
    assert len(mails_in(tmp_path / "mail")) == 1


def test_when_the_context_ends_nobody_is_there_any_more(tmp_path: Path) -> None:
    with mailbox(tmp_path) as port:
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
