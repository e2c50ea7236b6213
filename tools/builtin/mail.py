"""The tool `send_email`: one mail through an SMTP server, sent at most once."""

import datetime as dt
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from graph.plan import JSON
from tools.builtin.mail_addresses import read_address, read_recipients
from tools.builtin.mail_log import SentMail
from tools.builtin.mail_message import Attachment, Letter, build_message, message_id
from tools.builtin.mail_settings import SmtpSettings
from tools.builtin.mail_smtp import hand_over
from tools.builtin.paths import workspace_path
from tools.builtin.shapes import TEXT, WHOLE, record
from tools.builtin.workspace import Workspace
from tools.errors import HardToolError, SoftToolError, ToolSetupError
from tools.policy import IdempotencyKey, ReconcileAnswer, policy

_TIMEOUT_SECONDS = 300.0
_MAX_ATTACHMENTS = 20
_RESULT = record(message_id=TEXT, to={"type": "array", "items": TEXT}, subject=TEXT, bytes=WHOLE)
_DESCRIPTION = (
    "Send a mail. `to` is one address or several; `text` is for readers without HTML, `html` the same as a "
    "page; `attachments` are paths of files in the workspace."
)


def email_tool(
    settings: SmtpSettings, *, workspace: str | Path | None = None, sent_mail: str | Path | None = None
) -> BaseTool:
    """Return a tool that sends one mail and returns its Message-ID, recipients, subject and size.

    Args:
        settings: The server and the sender.
        workspace: The folder that attachments come from; without it there are none.
        sent_mail: A SQLite file that keeps what became of each mail. With it, a mail whose run was killed or
            lost its connection is known to be sent or not wherever that can be known, and is never sent
            twice for one key. Every process that may take up a run must use the same file.

    Raises:
        ToolSetupError: The certificates or the folder of `sent_mail` cannot be used.
    """
    post = _Post(
        settings,
        settings.tls(),
        None if workspace is None else Workspace(Path(workspace).expanduser().absolute()),
        None if sent_mail is None else SentMail(_checked(Path(sent_mail))),
    )

    @policy(
        effect="write",
        idempotent=False,
        risk="high",
        timeout=_TIMEOUT_SECONDS,
        max_concurrency=4,
        output_schema=_RESULT,
        reconcile=None if post.log is None else post.happened,
    )
    def send_email(
        to: str | list[str],
        subject: str,
        text: str,
        *,
        html: str | None = None,
        attachments: Annotated[list[str], Field(max_length=_MAX_ATTACHMENTS)] | None = None,
        key: Annotated[str, IdempotencyKey],
    ) -> dict[str, JSON]:
        return post.send(_Order(to, subject, text, html, tuple(attachments or ())), key)

    return StructuredTool.from_function(send_email, description=_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class _Order:
    """What a plan wants sent."""

    to: str | list[str]
    subject: str
    text: str
    html: str | None
    attachments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Post:
    """A mail server, and what goes with it."""

    settings: SmtpSettings
    tls: ssl.SSLContext
    workspace: Workspace | None
    log: SentMail | None

    def send(self, order: _Order, key: str) -> dict[str, JSON]:
        done = self.log.found(key) if self.log else None
        if isinstance(done, dict):
            return done
        recipients = read_recipients(order.to, self.settings.max_recipients)
        files = tuple(self._attachments(order.attachments))
        letter = Letter(tuple(recipients), order.subject, order.text, order.html, files)
        content = build_message(letter, sender=self.settings.sender, key=key, now=dt.datetime.now(dt.UTC))
        if len(content) > self.settings.max_bytes:
            message = (
                f"the mail would have {len(content)} bytes; at most {self.settings.max_bytes} are allowed"
            )
            raise HardToolError("too_large", message)
        mailboxes = [address.addr_spec for address in recipients]
        output: dict[str, JSON] = {
            "message_id": message_id(key, read_address(self.settings.sender)),
            "to": [*mailboxes],
            "subject": order.subject.strip(),
            "bytes": len(content),
        }
        self._hand_over(content, mailboxes, output, key)
        return output

    def happened(self, key: str, _args: Mapping[str, JSON]) -> ReconcileAnswer:
        """Answer whether the mail of a key was sent."""
        return "unknown" if self.log is None else self.log.ask(key)

    def _hand_over(self, content: bytes, to: list[str], output: JSON, key: str) -> None:
        sending = self.log.begin(key) if self.log else None
        try:
            hand_over(
                self.settings,
                self.tls,
                content,
                sender=read_address(self.settings.sender).addr_spec,
                recipients=to,
                committing=sending.handing_over if sending else _nothing,
            )
        except (HardToolError, SoftToolError):
            if sending:
                sending.refused()
            raise
        if sending:
            sending.sent(output)

    def _attachments(self, paths: tuple[str, ...]) -> Iterator[Attachment]:
        left = self.settings.max_bytes
        for path in paths:
            if self.workspace is None:
                raise HardToolError(
                    "no_workspace", "this tool has no workspace, so there is nothing to attach"
                )
            names = workspace_path(path)
            content = self.workspace.read(names, left)
            left -= len(content)
            yield Attachment(names[-1], content)


def _nothing() -> None:
    """Keep no book."""


def _checked(path: Path) -> Path:
    full = path.expanduser().absolute()
    if not full.parent.is_dir() or full.is_dir():
        raise ToolSetupError(
            f"{path} cannot hold the book of sent mails; name a file in a folder that is there"
        )
    return full
