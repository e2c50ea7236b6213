"""The demo shop's database: a small SQLite file with orders, parcels, stock, refunds and sent replies."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph.plan import JSON
from tools.errors import HardToolError, SoftToolError

_BUSY_SECONDS = 10.0
_SHOP_MARK = 0x73686F70
"""SQLite's application id of a shop database: the letters "shop"."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS stock (
    sku TEXT PRIMARY KEY, product TEXT NOT NULL, warehouse TEXT NOT NULL,
    quantity INTEGER NOT NULL, restock_date TEXT
);
CREATE TABLE IF NOT EXISTS orders (
    order_id TEXT PRIMARY KEY, customer TEXT NOT NULL, email TEXT NOT NULL,
    sku TEXT NOT NULL REFERENCES stock (sku), quantity INTEGER NOT NULL, amount_cents INTEGER NOT NULL,
    status TEXT NOT NULL, ordered_on TEXT NOT NULL, promised_on TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS logistics (
    order_id TEXT PRIMARY KEY REFERENCES orders (order_id), carrier TEXT, tracking_number TEXT,
    status TEXT NOT NULL, location TEXT NOT NULL, note TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS refunds (
    refund_id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (order_id),
    amount_cents INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS outbox (
    message_id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (order_id),
    recipient TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS effects (
    key TEXT PRIMARY KEY, tool TEXT NOT NULL, row_id INTEGER NOT NULL
);
"""

_STOCK = (
    ("KET-02", "kettle, steel", "Wuhan", 0, "2026-03-09"),
    ("LMP-11", "desk lamp", "Wuhan", 42, None),
    ("CHR-07", "office chair", "Hamburg", 3, None),
)
_ORDERS = (
    ("A1234", "Li Wei", "li.wei@example.com", "KET-02", 1, 25900, "delayed", "2026-02-20", "2026-02-27"),
    ("A1235", "Anna Vogt", "anna.vogt@example.com", "LMP-11", 2, 7800, "shipped", "2026-02-26", "2026-03-05"),
    (
        "A1236",
        "Omar Said",
        "omar.said@example.com",
        "CHR-07",
        1,
        18950,
        "cancelled",
        "2026-02-18",
        "2026-02-28",
    ),
    ("A1237", "王芳", "wang.fang@example.com", "LMP-11", 1, 3900, "delivered", "2026-02-10", "2026-02-17"),
)
_LOGISTICS = (
    ("A1234", None, None, "waiting_for_stock", "Wuhan", "not handed to a carrier: out of stock"),
    ("A1235", "SF Express", "SF100235", "in_transit", "Shanghai", "left the sorting centre"),
    ("A1236", None, None, "cancelled", "Hamburg", "cancelled by the system: payment not confirmed"),
    ("A1237", "YTO", "YT700237", "delivered", "Chengdu", "signed for at the door"),
)


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
        """Return every row of orders, logistics, stock, refunds, outbox or effects, oldest first.

        Raises:
            HardToolError: The shop has no such table.
        """
        if table not in {"orders", "logistics", "stock", "refunds", "outbox", "effects"}:
            raise HardToolError("no_such_table", f"the shop has no table {table!r}")
        with self.reading() as connection:
            found = connection.execute(f"SELECT * FROM {table} ORDER BY rowid")  # noqa: S608 - one of six names
            return [dict(row) for row in found]


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
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.executemany("INSERT INTO stock VALUES (?, ?, ?, ?, ?)", _STOCK)
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _ORDERS)
        connection.executemany("INSERT INTO logistics VALUES (?, ?, ?, ?, ?, ?)", _LOGISTICS)
        connection.execute(f"PRAGMA application_id = {_SHOP_MARK}")


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
