"""A real SMTP server on loopback, with STARTTLS and logins, that answers as a test wants."""

import email
import email.policy
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tools.builtin.mail_settings import SmtpSettings

USER, PASSWORD = "reports", "geheim-4711"


@dataclass
class PostOffice:
    """What arrived, and what the server answers.

    `answers` maps MAIL, RCPT, DATA to a reply instead of the usual one, or to a function of the envelope that
    returns one. A reply of "cut" drops the connection instead.
    """

    port: int
    ca_file: Path
    received: list[bytes] = field(default_factory=list)
    envelopes: list[tuple[str, list[str]]] = field(default_factory=list)
    answers: dict[str, str | Callable[[], str]] = field(default_factory=dict)

    def settings(self, **changes: Any) -> SmtpSettings:
        usual: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "username": USER,
            "password": PASSWORD,
            "sender": "周报 Bot <reports@example.com>",
            "ca_file": self.ca_file,
            "timeout_seconds": 20,
            "answer_seconds": 20,
        }
        return SmtpSettings(**{**usual, **changes})

    @property
    def mails(self) -> list[EmailMessage]:
        """The mails that arrived, read as a mail program does."""
        return [read(content) for content in self.received]


def read(content: bytes) -> EmailMessage:
    return email.message_from_bytes(content, policy=email.policy.default)


class _Clerk:
    """aiosmtpd's handler."""

    def __init__(self, office: PostOffice) -> None:
        self._office = office

    async def mail(self, server: Any, _: Any, envelope: Any, address: str, options: list[str]) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self._answer("MAIL", server)

    async def rcpt(self, server: Any, _: Any, envelope: Any, address: str, options: list[str]) -> str:
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return self._answer("RCPT", server)

    async def data(self, server: Any, _: Any, envelope: Any) -> str:
        reply = self._answer("DATA", server)
        if reply.startswith("250"):
            self._office.received.append(bytes(envelope.content))
            self._office.envelopes.append((envelope.mail_from, list(envelope.rcpt_tos)))
        return reply

    handle_MAIL, handle_RCPT, handle_DATA = mail, rcpt, data  # noqa: N815 - as aiosmtpd looks for them

    def _answer(self, word: str, server: Any) -> str:
        planned = self._office.answers.get(word, "250 OK")
        reply = planned if isinstance(planned, str) else planned()
        if reply == "cut":
            server.transport.abort()
        return reply


class _Controller(Controller):
    def _trigger_server(self) -> None:
        """Do without the usual first connection: the port is not known here."""
        self.smtpd = self
        self._factory_invoked.set()


def _authenticate(_server: Any, _session: Any, _envelope: Any, mechanism: str, data: Any) -> AuthResult:
    right = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=right, handled=False)


@contextmanager
def post_office(folder: Path, *, implicit: bool = False, **options: Any) -> Iterator[PostOffice]:
    """Run a server whose certificate is signed by the CA of `ca_file`."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    ca_file = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    office = PostOffice(0, ca_file)
    usual: dict[str, Any] = {"authenticator": _authenticate, "ready_timeout": 30}
    if implicit:  # aiosmtpd does not know that such a connection is encrypted
        usual |= {"ssl_context": context, "auth_require_tls": False}
    else:
        usual |= {"tls_context": context, "require_starttls": True, "auth_required": True}
    controller = _Controller(_Clerk(office), hostname="127.0.0.1", port=0, **{**usual, **options})
    controller.start()
    try:
        running: Any = controller.server
        office.port = running.sockets[0].getsockname()[1]
        yield office
    finally:
        controller.stop()
