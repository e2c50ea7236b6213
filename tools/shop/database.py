"""The demo shop's database: a small SQLite file with orders, parcels, stock, refunds and sent replies."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graph.plan import JSON
from tools.errors import HardToolError, SoftToolError
from tools.shop.samples import VERSION, fill

_BUSY_SECONDS = 10.0
_SHOP_MARK = 0x73686F70
"""SQLite's application id of a shop database: the letters "shop"."""

_TABLES = frozenset({"orders", "logistics", "stock", "refunds", "outbox", "effects", "services"})


@dataclass(frozen=True, slots=True)
class Shop:
    """An existing shop database.

    A connection is opened for each piece of work and closed after it, so that any thread and any process
    may use the shop.
    """

    path: Path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for queries."""
        with _translated(self.path), closing(_connect(self.path)) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside one write transaction, rolled back when the block raises."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def rows(self, table: str) -> list[dict[str, JSON]]:
        """Return every row of orders, logistics, stock, refunds, outbox, effects or services, oldest first.

        Raises:
            HardToolError: The shop has no such table.
        """
        if table not in _TABLES:
            raise HardToolError("no_such_table", f"the shop has no table {table!r}")
        with self.reading() as connection:
            found = connection.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608 - a known name
            return [dict(row) for row in found]

    def take_down(self, service: str, until: datetime) -> None:
        """Let one of the shop's services answer nobody until then."""
        with self.writing() as connection:
            row = (service, until.astimezone(UTC).isoformat(timespec="seconds"))
            connection.execute("INSERT OR REPLACE INTO services (name, down_until) VALUES (?, ?)", row)

    def require_up(self, service: str) -> None:
        """Return when a service answers.

        Raises:
            SoftToolError: It is down; the message says until when.
        """
        with self.reading() as connection:
            statement = "SELECT down_until FROM services WHERE name = ?"
            found = connection.execute(statement, (service,)).fetchone()
        if found is not None and datetime.now(UTC) < datetime.fromisoformat(found["down_until"]):
            raise SoftToolError(f"the {service} service is down until {found['down_until']}")

    def start_over(self) -> None:
        """Forget all refunds, replies and outages: the shop is as it was on its first day."""
        with self.writing() as connection:
            for table in ("effects", "refunds", "outbox", "services"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a known name


def open_shop(path: Path | str) -> Shop:
    """Return the shop kept in a file; a new file gets the demo's orders.

    Several processes may do this at once.

    Args:
        path: The database file; its folder must exist.

    Raises:
        HardToolError: The folder is missing, or the file is not a database or not to be written.
    """
    shop = Shop(Path(path))
    if not shop.path.parent.is_dir():
        raise HardToolError("shop_unavailable", f"there is no folder {shop.path.parent}; create it first")
    with _translated(shop.path), closing(_connect(shop.path)) as connection:
        if _mark(connection) != _SHOP_MARK:
            _create(connection, shop.path)
            connection.execute("PRAGMA journal_mode = WAL")
        if _version(connection) < VERSION:
            _bring_up_to_date(connection)
    return shop


def _create(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if _mark(connection) == _SHOP_MARK:
            return  # another process was first
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            raise HardToolError(
                "shop_unavailable", f"{path} is the database of something else; name a new file"
            )
        fill(connection)
        connection.execute(f"PRAGMA application_id = {_SHOP_MARK}")


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Give a shop of an earlier version what has come since."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if _version(connection) < VERSION:
            fill(connection)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _mark(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into the two classes a plan knows: later, or never."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise SoftToolError(f"the shop database {path} is busy") from error
        raise HardToolError(
            "shop_unavailable", f"the shop database {path} cannot be used: {error}"
        ) from error
    except sqlite3.DatabaseError as error:
        raise HardToolError("shop_unavailable", f"{path} is not a shop database: {error}") from error
