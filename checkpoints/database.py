"""One SQLite connection with LangGraph's saver and store on it, both without transactions of their own."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.sqlite import SqliteStore

from checkpoints.errors import StoreBusyError, StoreUnavailableError
from checkpoints.inspection import (
    APPLICATION_ID,
    FORMAT_VERSION,
    check_place,
    identify,
    is_blank,
    refusal,
)


class ConnectionSaver(SqliteSaver):
    """LangGraph's saver, run inside a transaction that the caller began and will end."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Give a cursor and leave the transaction alone."""
        cursor = self.conn.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


class ConnectionStore(SqliteStore):
    """LangGraph's store, run inside a transaction that the caller began and will end."""

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        cursor = self.conn.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


class Database:
    """An open database file. Belongs to the thread that made it."""

    def __init__(self, path: Path, locks: Path, busy_timeout: float) -> None:
        """Open the file, and set it up first when it is new.

        Args:
            path: The database file; its folder exists.
            locks: Folder for lock files, made when needed.
            busy_timeout: Seconds to wait for another process's lock.

        Raises:
            StoreError: When the file is not to be used.
            sqlite3.Error: What SQLite raised.
        """
        self.path = path
        self.connection = open_connection(path, locks, busy_timeout)
        self.saver = ConnectionSaver(self.connection)
        self.store = ConnectionStore(self.connection)
        self.saver.is_setup = self.store.is_setup = True
        self._synced = True

    def sync_commits(self, synced: bool) -> None:
        """Choose whether the next transaction's commit waits for the disk; call it between transactions."""
        if synced != self._synced:
            self.connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
            self._synced = synced

    def close(self) -> None:
        """Close the connection; the last one to close folds the write-ahead log into the file."""
        self.connection.close()


def open_connection(path: Path, locks: Path, busy_timeout: float) -> sqlite3.Connection:
    """Return a connection to a database that has all tables, in autocommit mode.

    Args:
        path: The database file; its folder exists.
        locks: Folder for lock files.
        busy_timeout: Seconds to wait for another process.
    """
    check_place(path)
    if is_blank(path):
        with _setup_lock(path, locks, busy_timeout):
            if is_blank(path):
                _create(path, busy_timeout)
    connection = _connect(path, busy_timeout)
    try:
        _make_current(connection, path, locks, busy_timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, busy_timeout: float) -> sqlite3.Connection:
    # FULL: a committed intent outlives a power cut too, which is what "durable before the call" promises.
    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _create(path: Path, busy_timeout: float) -> None:
    # Built aside and moved into place: a process that dies halfway leaves no half-made database behind.
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    connection = _connect(unfinished, busy_timeout)
    try:
        _set_up(connection)
    finally:
        connection.close()
    _remove_logs(path)
    unfinished.replace(path)


def _remove_logs(path: Path) -> None:
    # SQLite would replay the log of a database that was deleted into the new one of the same name.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _make_current(connection: sqlite3.Connection, path: Path, locks: Path, busy_timeout: float) -> None:
    identity = identify(connection)
    problem = refusal(identity, path)
    if problem is not None:
        raise problem
    if not (identity.ours and _migrated(connection)):
        with _setup_lock(path, locks, busy_timeout):
            _set_up(connection)


def _migrated(connection: sqlite3.Connection) -> bool:
    (version,) = connection.execute("SELECT max(v) FROM store_migrations").fetchone()
    return version is not None and version >= len(SqliteStore.MIGRATIONS) - 1


def _set_up(connection: sqlite3.Connection) -> None:
    SqliteSaver(connection).setup()
    SqliteStore(connection).setup()
    connection.execute(f"PRAGMA user_version={FORMAT_VERSION}")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")


@contextmanager
def _setup_lock(path: Path, locks: Path, busy_timeout: float) -> Iterator[None]:
    try:
        locks.mkdir(exist_ok=True)
        with FileLock(locks / "setup.lock", timeout=busy_timeout):
            yield
    except Timeout:
        raise StoreBusyError(
            f"database {path} is being set up by another process; try again when that one is done"
        ) from None
    except OSError as error:
        raise StoreUnavailableError(
            f"database {path} cannot be set up ({error.strerror}); check its folder and the space on the disk"
        ) from error
