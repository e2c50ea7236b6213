"""The book of sent mails: what became of each, so that a mail in doubt is not sent twice.

A mail is `begun`, then `handed_over` right before the line after which it may have been sent, then `sent` or
`refused`. Asking about a mail that has only begun takes it back in the same breath: whoever is still at it
finds it `withdrawn` and stops. So "it was not sent" stays true.
"""

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph.plan import JSON
from tools.errors import HardToolError, SoftToolError
from tools.policy import ReconcileAnswer

_BUSY_SECONDS = 10.0
_PRIMARY_CODE = 0xFF
_SCHEMA = """
CREATE TABLE IF NOT EXISTS mails (
    key TEXT PRIMARY KEY, attempt TEXT NOT NULL, state TEXT NOT NULL, output TEXT,
    changed_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)
"""
_BEGIN = """
INSERT INTO mails (key, attempt, state) VALUES (?, ?, 'begun') ON CONFLICT (key) DO UPDATE
SET attempt = excluded.attempt, state = 'begun', output = NULL, changed_at = CURRENT_TIMESTAMP
"""
_MOVE = """
UPDATE mails SET state = ?, output = ?, changed_at = CURRENT_TIMESTAMP
WHERE key = ? AND attempt = ? AND state = ?
"""
_WITHDRAW = """
UPDATE mails SET state = 'withdrawn', changed_at = CURRENT_TIMESTAMP WHERE key = ? AND state = 'begun'
"""


@dataclass(frozen=True, slots=True)
class Sending:
    """One try to send one mail."""

    log: "SentMail"
    key: str
    attempt: str

    def handing_over(self) -> None:
        """Note that the mail may be sent from now on.

        Raises:
            SoftToolError: The mail was withdrawn: another try has taken its place.
        """
        if not self._move("begun", "handed_over"):
            raise SoftToolError("the mail was taken back before it was sent")

    def refused(self) -> None:
        """Note that the server did not take the mail."""
        with contextlib.suppress(HardToolError, SoftToolError):  # then it stays in doubt
            self._move("handed_over", "refused")

    def sent(self, output: JSON) -> None:
        """Note that the server took the mail, and what the tool returned."""
        with contextlib.suppress(HardToolError, SoftToolError):  # it is sent all the same
            self._move("handed_over", "sent", output)

    def _move(self, old: str, new: str, output: JSON = None) -> bool:
        kept = None if output is None else json.dumps(output)
        with self.log.writing() as base:
            return base.execute(_MOVE, (new, kept, self.key, self.attempt, old)).rowcount == 1


@dataclass(frozen=True, slots=True)
class SentMail:
    """The book, a SQLite file. Every process that may take up a run must use the same one."""

    path: Path

    def begin(self, key: str) -> Sending:
        """Start a try to send the mail of a key.

        Raises:
            HardToolError: "sent_mail": the book cannot be written.
            SoftToolError: It is busy.
        """
        sending = Sending(self, key, secrets.token_hex(8))
        with self.writing() as base:
            base.execute(_BEGIN, (key, sending.attempt))
        return sending

    def found(self, key: str) -> JSON:
        """Return what the tool returned when it sent the mail of a key, None when it did not.

        Raises:
            HardToolError: "sent_mail": the book cannot be read.
            SoftToolError: It is busy.
        """
        with self.writing() as base:
            row = base.execute("SELECT output FROM mails WHERE key = ? AND state = 'sent'", (key,)).fetchone()
        found: JSON = json.loads(row[0]) if row else None
        return found

    def ask(self, key: str) -> ReconcileAnswer:
        """Say whether the mail of a key was sent, with what the tool returned; it then stays that way."""
        with self.writing() as base:
            base.execute(_WITHDRAW, (key,))
            row = base.execute("SELECT state, output FROM mails WHERE key = ?", (key,)).fetchone()
        state, output = row or ("", "")
        if state == "sent":
            return "done", json.loads(output)
        return "not_done" if state in {"withdrawn", "refused"} else "unknown"

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside one transaction that is on disk when the block ends.

        Raises:
            HardToolError: "sent_mail".
            SoftToolError: Another process keeps it busy.
        """
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as base:
                base.execute("PRAGMA synchronous = FULL")
                base.execute("BEGIN IMMEDIATE")
                with base:
                    base.execute(_SCHEMA)
                    yield base
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
            if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                raise SoftToolError(f"the book of sent mails {self.path.name} is busy") from error
            message = f"the book of sent mails {self.path} cannot be used: {error}"
            raise HardToolError("sent_mail", message) from error
