"""Addresses and mails as bytes: pure."""

import datetime as dt
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builtin.postoffice import read
from tools import HardToolError
from tools.builtin.mail_addresses import read_address, read_recipients
from tools.builtin.mail_message import Attachment, Letter, build_message, message_id

LINE_END, END = re.compile("\r\n|\r|\n"), re.compile("(\r\n|\r|\n)$")
NOW = dt.datetime(2026, 3, 2, 8, 30, tzinfo=dt.UTC)
ANN = read_address("ann@example.com")
NAMES = st.text(max_size=40).filter(lambda name: "<" not in name and ">" not in name)


def _built(*, sender: str = "王 <w@example.com>", key: str = "k1", **parts: Any) -> bytes:
    letter = Letter(**{"to": (ANN,), "subject": "周报", "text": "您好", **parts})
    return build_message(letter, sender=sender, key=key, now=NOW)


def _code(call: Any, *args: Any, **parts: Any) -> str:
    with pytest.raises(HardToolError) as caught:
        call(*args, **parts)
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "name", "mailbox"),
    [
        ("ann@example.com", "", "ann@example.com"),
        (" Ann Lee <ann.b+c@sub.example.com> ", "Ann Lee", "ann.b+c@sub.example.com"),
        ('"Lee, Ann" <ann@example.com>', "Lee Ann", "ann@example.com"),
        ("王芳 <wang@例子.公司>", "王芳", "wang@xn--fsqu00a.xn--55qx5d"),
        ("root@localhost", "", "root@localhost"),
    ],
)
def test_addresses_are_read_with_or_without_a_name(text: str, name: str, mailbox: str) -> None:
    address = read_address(text)
    assert (address.display_name, address.addr_spec) == (name, mailbox)


@pytest.mark.parametrize(
    "text",
    [
        *("", "ann", "@example.com", "ann@", "ann@example", "ann@@example.com", "a b@example.com"),
        *("ann@exam ple.com", "ann@-x.com", "ann@x..com", "ann@[127.0.0.1]", ".ann@x.com", "王@example.com"),
        *(
            "<a@x.com> <b@x.com>",
            "a@x.com b@x.com",
            "Ann <a@x.com",
            "x" * 65 + "@x.com",
            "a@" + "x" * 64 + ".com",
        ),
        *("a@x.com>", "ann@ｅxample.com@y.com"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert _code(read_address, text) == "bad_address"


@pytest.mark.parametrize("mark", ["\n", "\r", "\r\n", "\x00", "\x0b", "\x85", "\u2028", "\x1b", "\ud800"])
def test_no_line_break_gets_into_a_header(mark: str) -> None:
    forged = f"x{mark}Bcc: eve@evil.example"
    assert _code(read_address, f"{forged} <a@x.com>") == "header_injection"
    assert _code(read_recipients, ["a@x.com", f"a@x.com{mark}eve@evil.example"], 9) == "header_injection"
    assert _code(_built, subject=forged) == "header_injection"
    assert _code(_built, attachments=(Attachment(forged, b""),)) == "header_injection"


def test_recipients_are_listed_in_any_usual_way_and_named_once() -> None:
    found = read_recipients(["a@x.com; 王 <b@x.com>，c@x.com", "A@X.com", "d@x.com、e@x.com,"], 5)
    assert [address.addr_spec for address in found] == [f"{name}@x.com" for name in "abcde"]
    assert _code(read_recipients, "a@x.com, b@x.com", 1) == "too_many_recipients"
    assert _code(read_recipients, [], 1) == "bad_address"
    assert _code(read_recipients, "a@x.com, , and more", 9) == "bad_address"


@given(name=NAMES, subject=st.text(max_size=120))
def test_headers_say_what_was_given_and_no_more(name: str, subject: str) -> None:
    try:
        address = read_address(f"{name} <ann@example.com>")
        content = _built(to=(address,), subject=subject)
    except HardToolError:
        return
    mail = read(content)
    assert [each.addr_spec for each in mail["to"].addresses] == ["ann@example.com"]
    assert " ".join(str(mail["subject"]).split()) == " ".join(subject.split())
    assert sorted(set(mail.keys())) == sorted(
        {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"}
        | {"Content-Transfer-Encoding"}
    )


@given(text=st.text(max_size=300), html=st.none() | st.text(max_size=100))
def test_bodies_arrive_as_written_in_lines_that_every_server_takes(text: str, html: str | None) -> None:
    content = _built(text=f"x{text}", html=html)
    assert content.isascii()
    assert re.search(rb"(?<!\r)\n|\r(?!\n)", content) is None
    assert content.endswith(b"\r\n")
    assert max(map(len, content.split(b"\r\n"))) <= 998
    body = read(content).get_body(("plain",))
    assert body is not None
    expected = re.sub("[\x00\ud800-\udfff]", "\ufffd", f"x{text}")
    assert LINE_END.split(END.sub("", body.get_content())) == LINE_END.split(END.sub("", expected))


def test_names_and_contents_of_attachments_arrive() -> None:
    page = Attachment("销售 报告 2026年第9周.html", "<p>您好</p>".encode())
    files = (page, Attachment("data.bin", b"\x00\xff\r\n.\r\n"), Attachment("mail.eml", b"Subject: x"))
    mail = read(_built(html="<p>您好</p>", attachments=files))
    got = list(mail.iter_attachments())
    assert [part.get_filename() for part in got] == [each.name for each in files]
    assert [part.get_payload(decode=True) for part in got] == [each.content for each in files]
    assert [part.get_content_type() for part in got][0::2] == ["text/html", "application/octet-stream"]
    assert [part.get_content_type() for part in mail.walk()][:4] == [
        *("multipart/mixed", "multipart/alternative", "text/plain", "text/html")
    ]


def test_a_mail_without_subject_or_words_is_refused() -> None:
    assert _code(_built, subject=" ") == "bad_subject"
    assert _code(_built, subject="x" * 501) == "bad_subject"
    assert _code(_built, text=" \n", html="  ") == "empty_message"


@given(key=st.text(min_size=1, max_size=80))
def test_one_key_has_one_message_id(key: str) -> None:
    first = message_id(key, ANN)
    assert first == message_id(key, ANN) != message_id(f"{key}x", ANN)
    assert re.fullmatch(r"<[A-Za-z0-9._-]{1,64}@example\.com>", first)
    assert read(_built(key=key))["Message-ID"] == message_id(key, read_address("w@example.com"))
