"""The demo shop's tables, and what is in them on its first day."""

import sqlite3

VERSION = 2
"""Of the tables and their samples; a database of an earlier one is given what it lacks."""

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
CREATE TABLE IF NOT EXISTS services (
    name TEXT PRIMARY KEY, down_until TEXT NOT NULL
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
    ("A1238", "陈静", "chen.jing@example.com", "LMP-11", 1, 3900, "delayed", "2026-02-24", "2026-03-03"),
)
_LOGISTICS = (
    ("A1234", None, None, "waiting_for_stock", "Wuhan", "not handed to a carrier: out of stock"),
    ("A1235", "SF Express", "SF100235", "in_transit", "Shanghai", "left the sorting centre"),
    ("A1236", None, None, "cancelled", "Hamburg", "cancelled by the system: payment not confirmed"),
    ("A1237", "YTO", "YT700237", "delivered", "Chengdu", "signed for at the door"),
    ("A1238", "YTO", "YT700238", "lost", "Zhengzhou", "lost by the carrier on the way"),
)


def fill(connection: sqlite3.Connection) -> None:
    """Make the tables and put in the samples that are not there, inside the caller's transaction."""
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.executemany("INSERT OR IGNORE INTO stock VALUES (?, ?, ?, ?, ?)", _STOCK)
    connection.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _ORDERS)
    connection.executemany("INSERT OR IGNORE INTO logistics VALUES (?, ?, ?, ?, ?, ?)", _LOGISTICS)
    connection.execute(f"PRAGMA user_version = {VERSION}")
