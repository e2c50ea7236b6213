"""Handing a mail over to its server, with a clear word on what is known when something goes wrong.

A server has taken a mail when it has answered the line that ends it, and not before. All that fails earlier
did nothing; only a connection that is lost between that line and its answer leaves a doubt.
"""

import base64
import contextlib
import re
import smtplib
import ssl
from collections.abc import Callable, Iterator, Sequence

from tools.builtin.mail_addresses import read_address
from tools.builtin.mail_settings import SmtpSettings
from tools.errors import HardToolError, OutcomeUnknown, SoftToolError

_PERMANENT = 500
_ACCEPTED = 250
_GO_AHEAD = 354
_LINE_START_DOT = re.compile(rb"^\.", re.MULTILINE)
_END = b".\r\n"
_REPLY_CHARS = 200


def hand_over(
    settings: SmtpSettings,
    tls: ssl.SSLContext,
    content: bytes,
    *,
    sender: str,
    recipients: Sequence[str],
    committing: Callable[[], None],
) -> str:
    """Give a mail to the server, for all recipients or for none, and return what it answered.

    Args:
        settings: The server.
        tls: What checks its certificate.
        content: The whole mail, lines ended by CRLF.
        sender: The envelope's sender, a bare address.
        recipients: The envelope's recipients, bare addresses.
        committing: Called right before the line after which the mail may have been sent. What it raises
            passes through, and nothing was sent.

    Raises:
        HardToolError: The server refuses for good, or cannot be trusted; nothing was sent.
        SoftToolError: The server is not there, or not now; nothing was sent.
        OutcomeUnknown: The connection was lost after the mail and before the answer.
    """
    with contextlib.closing(_Session(settings, tls)) as session:
        session.open()
        session.envelope(sender, recipients, len(content))
        session.body(content)
        committing()
        return session.end()


class _Session:
    """One connection to the server."""

    def __init__(self, settings: SmtpSettings, tls: ssl.SSLContext) -> None:
        self._settings = settings
        self._tls = tls
        self._smtp: smtplib.SMTP | None = None

    @property
    def smtp(self) -> smtplib.SMTP:
        assert self._smtp is not None
        return self._smtp

    def open(self) -> None:
        with self._nothing_sent("the mail server cannot be used"):
            self._smtp = self._connected()
            if self._settings.security == "starttls":
                self.smtp.ehlo()
                self._check(*self.smtp.starttls(context=self._tls))
            self.smtp.ehlo_or_helo_if_needed()
            if self._settings.username is not None:
                self.smtp.login(self._settings.username, self._settings.secret)

    def _connected(self) -> smtplib.SMTP:
        settings = self._settings
        own_name = read_address(settings.sender).domain  # asking DNS for this machine's name can take long
        if settings.security == "implicit":
            return smtplib.SMTP_SSL(
                settings.host, settings.port, own_name, timeout=settings.timeout_seconds, context=self._tls
            )
        return smtplib.SMTP(settings.host, settings.port, own_name, timeout=settings.timeout_seconds)

    def envelope(self, sender: str, recipients: Sequence[str], size: int) -> None:
        with self._nothing_sent("the mail server refuses the mail"):
            self._check_size(size)
            options = [f"size={size}"] if self.smtp.has_extn("size") else []
            self._check(*self.smtp.mail(sender, options))
        for recipient in recipients:
            with self._nothing_sent(f"the mail server refuses the recipient {recipient}"):
                self._check(*self.smtp.rcpt(recipient))

    def _check_size(self, size: int) -> None:
        most = self.smtp.esmtp_features.get("size", "").strip()
        if most.isdecimal() and 0 < int(most) < size:
            message = f"the mail has {size} bytes and its server takes {most}; send smaller attachments"
            raise HardToolError("too_large", message)

    def body(self, content: bytes) -> None:
        with self._nothing_sent("the mail server refuses the mail"):
            self._check(*self.smtp.docmd("data"), expected=_GO_AHEAD)
            self.smtp.send(_LINE_START_DOT.sub(b"..", content))

    def end(self) -> str:
        smtp = self.smtp
        try:
            if smtp.sock is not None:
                smtp.sock.settimeout(self._settings.answer_seconds)
            smtp.send(_END)
            code, reply = smtp.getreply()
        except (OSError, smtplib.SMTPException) as error:
            raise OutcomeUnknown(
                f"the mail was given to the server, which did not answer: {error}"
            ) from error
        if not _is_reply(code):
            raise OutcomeUnknown("the mail was given to the server, whose answer cannot be read")
        with self._nothing_sent("the mail server refuses the mail"):
            self._check(code, reply)
        with contextlib.suppress(OSError, smtplib.SMTPException):
            smtp.quit()
        return self._shown(reply)

    def close(self) -> None:
        if self._smtp is not None:
            self._smtp.close()

    def _check(self, code: int, reply: bytes, expected: int = _ACCEPTED) -> None:
        kind = expected // 100
        if code // 100 != kind:
            raise smtplib.SMTPResponseException(code, reply)

    @contextlib.contextmanager
    def _nothing_sent(self, what: str) -> Iterator[None]:
        """Turn errors from before the end of a mail into later or never."""
        try:
            yield
        except smtplib.SMTPResponseException as error:
            raise self._refusal(what, error) from error
        except smtplib.SMTPNotSupportedError as error:
            remedy = "check security and username in the settings"
            raise HardToolError("mail_server", f"{what}: {error}; {remedy}") from error
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate is not trusted: {error.verify_message}"
            raise HardToolError("bad_certificate", f"{what}: {reason}") from error
        except (smtplib.SMTPException, OSError) as error:
            raise SoftToolError(f"{what} now: {self._shown(str(error).encode())}") from error

    def _refusal(self, what: str, error: smtplib.SMTPResponseException) -> Exception:
        reply = error.smtp_error
        text = (
            f"{what}: {error.smtp_code} {self._shown(reply if isinstance(reply, bytes) else reply.encode())}"
        )
        if error.smtp_code < _PERMANENT:
            return SoftToolError(text)
        code = "mail_login" if isinstance(error, smtplib.SMTPAuthenticationError) else "mail_refused"
        return HardToolError(code, text)

    def _shown(self, reply: bytes) -> str:
        """Return a server's words on one line, without the password should it repeat that."""
        text = " ".join(reply.decode("utf-8", "replace").split())
        secret = self._settings.secret
        user = self._settings.username or ""
        coded = [base64.b64encode(each.encode()).decode() for each in (secret, f"\0{user}\0{secret}")]
        for word in (secret, *coded) if secret else ():
            text = text.replace(word, "***")
        return text[:_REPLY_CHARS]


def _is_reply(code: int) -> bool:
    return 200 <= code < 600  # noqa: PLR2004 - the range of SMTP's reply codes
