"""A mail as the bytes that go over the wire: pure."""

import datetime as dt
import email.policy
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage

from tools.builtin.mail_addresses import one_line, read_address
from tools.errors import HardToolError
from tools.results import clean_text

_WIRE = email.policy.SMTP.clone(cte_type="7bit")
_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MAX_SUBJECT_CHARS = 500
_NO_ATTACHMENT = frozenset({"multipart", "message"})
_ANY_TYPE = ("application", "octet-stream")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file with the name its reader sees."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """What a mail says, and to whom."""

    to: tuple[Address, ...]
    subject: str
    text: str
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()


def message_id(key: str, sender: Address) -> str:
    """Return the Message-ID of a mail: the same for the same key, so that receivers know it again."""
    plain = key if _KEY.fullmatch(key) else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]
    return f"<{plain}@{sender.domain}>"


def build_message(letter: Letter, *, sender: str, key: str, now: dt.datetime) -> bytes:
    """Return the whole mail: CRLF at each line's end, nothing but ASCII.

    Raises:
        HardToolError: "header_injection", "bad_subject" or "empty_message".
    """
    subject = one_line(letter.subject, "the subject")
    if not subject or len(subject) > _MAX_SUBJECT_CHARS:
        raise HardToolError("bad_subject", f"a subject has 1 to {_MAX_SUBJECT_CHARS} characters")
    if not letter.text.strip() and not (letter.html or "").strip():
        raise HardToolError("empty_message", "the mail says nothing; give a text")
    author = read_address(sender)
    message = EmailMessage(policy=_WIRE)
    message["From"] = author
    message["To"] = letter.to
    message["Subject"] = subject
    message["Date"] = now
    message["Message-ID"] = message_id(key, author)
    message["Auto-Submitted"] = "auto-generated"  # keeps holiday notices from answering
    message.set_content(clean_text(letter.text))
    if letter.html is not None:
        message.add_alternative(clean_text(letter.html), subtype="html")
    for attachment in letter.attachments:
        _attach(message, attachment)
    content = message.as_bytes()
    return content if content.endswith(b"\r\n") else content + b"\r\n"


def _attach(message: EmailMessage, attachment: Attachment) -> None:
    kind, subtype = _media_type(attachment.name)
    message.add_attachment(
        attachment.content,
        maintype=kind,
        subtype=subtype,
        filename=one_line(attachment.name, "the name of an attachment"),
        params={"charset": "utf-8"} if kind == "text" and _is_utf8(attachment.content) else {},
    )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _media_type(name: str) -> tuple[str, str]:
    guessed, encoding = mimetypes.guess_type(name)
    kind, _, subtype = (guessed or "").partition("/")
    known = guessed and encoding is None and kind not in _NO_ATTACHMENT
    return (kind, subtype) if known else _ANY_TYPE
