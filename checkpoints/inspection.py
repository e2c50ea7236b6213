"""What is checked about a database file before anything is created or changed."""

import os
import sqlite3
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from checkpoints.errors import StoreError, StoreFormatError, StoreUnavailableError

APPLICATION_ID = int.from_bytes(b"PlnR")
"""Marks a SQLite file as one of planrail's, in the file header."""

FORMAT_VERSION = 1
"""Layout of the database file, kept as SQLite's user_version."""

_MAGIC = b"SQLite format 3\x00"
_LANGGRAPH_TABLES = frozenset({"checkpoints", "writes", "store", "store_migrations"})


@dataclass(frozen=True, slots=True)
class Identity:
    """What a database says about itself."""

    application_id: int
    user_version: int
    tables: frozenset[str]

    @property
    def ours(self) -> bool:
        """Whether planrail set the file up."""
        return self.application_id == APPLICATION_ID


def check_place(path: Path) -> None:
    """Check what can be known without opening the file as a database.

    Args:
        path: Where the database is or shall be.

    Raises:
        StoreUnavailableError: When it can be no database, with the remedy.
    """
    try:
        problem = _place_problem(path)
    except OSError as error:
        problem = f"{path} cannot be reached ({error.strerror}); pass another database path"
    if problem is not None:
        raise StoreUnavailableError(problem)


def _place_problem(path: Path) -> str | None:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist; create it or pass another database path"
    if path.is_dir():
        return f"{path} is a folder; pass the path of a file in it, such as {path / 'runs.db'}"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"the folder {path.parent} is read-only; make it writable or pass another database path"
    return _file_problem(path) if path.exists() else None


def _file_problem(path: Path) -> str | None:
    if not path.is_file():
        return f"{path} is not a regular file; pass another database path"
    if not os.access(path, os.R_OK | os.W_OK):
        return f"the database {path} is read-only; make it readable and writable or pass another path"
    if is_blank(path):
        return None
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            return None
    return f"{path} is not a SQLite database; pass the path of another file"


def is_blank(path: Path) -> bool:
    """Whether there is no database yet: no file, or an empty one."""
    return not path.exists() or path.stat().st_size == 0


def identify(connection: sqlite3.Connection) -> Identity:
    """Read what a database says about itself; changes nothing."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (user_version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return Identity(application_id, user_version, frozenset(name for (name,) in tables))


def refusal(identity: Identity, path: Path) -> StoreError | None:
    """Decide whether a database is to be left alone.

    A database of plain LangGraph savers is taken over; any other program's is not.

    Args:
        identity: What the database says about itself.
        path: The file, for the message.

    Returns:
        The error to raise, or None when the database may be used.
    """
    if identity.ours and identity.user_version > FORMAT_VERSION:
        return StoreFormatError(
            f"database {path} has format {identity.user_version}, this version reads up to {FORMAT_VERSION}; "
            "upgrade planrail or pass another database path"
        )
    if identity.ours or _adoptable(identity.application_id, identity.tables):
        return None
    return StoreUnavailableError(f"database {path} belongs to another program; pass another database path")


def _adoptable(application_id: int, tables: AbstractSet[str]) -> bool:
    return application_id == 0 and (not tables or not tables.isdisjoint(_LANGGRAPH_TABLES))
