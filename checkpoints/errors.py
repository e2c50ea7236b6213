"""Errors of the stored runs: each with a stable code and a text that holds the remedy."""

import sqlite3
from pathlib import Path

from graph.plan.errors import PlanrailError


class StoreError(PlanrailError):
    """The database of runs cannot do what was asked."""

    code = "store_error"


class StoreBusyError(StoreError):
    """Another process held the database's write lock for longer than the busy timeout."""

    code = "store_busy"


class StoreUnavailableError(StoreError):
    """The database cannot be opened or written: wrong place, wrong file, no right, no space."""

    code = "store_unavailable"


class StoreFormatError(StoreError):
    """The database or an entry in it was written by a newer version, or is damaged."""

    code = "store_format"


class RunIdError(StoreError):
    """A run id that cannot name a run."""

    code = "bad_run_id"


class RunBusyError(StoreError):
    """Somebody else is working on the run at this moment."""

    code = "run_busy"

    def __init__(self, run_id: str) -> None:
        """Name the run.

        Args:
            run_id: The run whose lock is taken.
        """
        self.run_id = run_id
        super().__init__(
            f"run {run_id!r} is being worked on by another process or task; "
            "wait until it is done or stop it, then try again"
        )


_UNAVAILABLE = {
    sqlite3.SQLITE_FULL: "the disk or the database is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_IOERR: "reading or writing the file failed; check the disk",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; make the file and its folder readable and writable",
    sqlite3.SQLITE_PERM: "access is denied; make the file and its folder readable and writable",
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; pass the path of another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a copy or pass the path of another file",
}


def store_error(error: BaseException, path: Path) -> StoreError | None:
    """Return the typed error for what SQLite raised, or None when it was not the database's condition.

    Args:
        error: What a database call raised; LangGraph's store wraps some in a ValueError.
        path: The database file, for the message.
    """
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    code = getattr(cause, "sqlite_errorcode", None)
    if not isinstance(cause, sqlite3.Error) or not isinstance(code, int):
        return None
    primary = code & 0xFF
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreBusyError(
            f"database {path} is locked by another process; try again when that one is done"
        )
    reason = _UNAVAILABLE.get(primary)
    return None if reason is None else StoreUnavailableError(f"database {path}: {reason}")
