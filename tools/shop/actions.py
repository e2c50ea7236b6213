"""What can be done in the demo shop: three lookups and two writes."""

import sqlite3
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from graph.plan import JSON
from tools.errors import HardToolError
from tools.shop.database import Shop

_MAX_REPLY_CHARS = 20_000


def order(shop: Shop, order_id: str) -> dict[str, JSON]:
    """Return an order with its amount in the shop's currency.

    Raises:
        HardToolError: "order_not_found".
    """
    with shop.reading() as connection:
        found = dict(_order_row(connection, order_id))
    cents = found.pop("amount_cents")
    return found | {"amount": cents / 100}


def logistics(shop: Shop, order_id: str) -> dict[str, JSON]:
    """Return where an order's parcel is.

    Raises:
        HardToolError: "order_not_found".
        SoftToolError: The service "logistics" is down.
    """
    shop.require_up("logistics")
    with shop.reading() as connection:
        _order_row(connection, order_id)
        found = connection.execute("SELECT * FROM logistics WHERE order_id = ?", (order_id,)).fetchone()
    return dict(found)


def stock(shop: Shop, sku: str) -> dict[str, JSON]:
    """Return how many pieces of an article are there, and when more come.

    Raises:
        HardToolError: "sku_not_found".
    """
    with shop.reading() as connection:
        found = connection.execute("SELECT * FROM stock WHERE sku = ?", (sku,)).fetchone()
    if found is None:
        raise HardToolError("sku_not_found", f"the shop has no article {sku!r}")
    return dict(found)


def refund(shop: Shop, order_id: str, amount: float, key: str | None) -> dict[str, JSON]:
    """Pay back part or all of an order; with a key, at most once for that key.

    Raises:
        HardToolError: "order_not_found", "invalid_amount", or "refund_too_large" when all refunds of the
            order together would exceed its amount.
    """
    cents = int((Decimal(str(amount)) * 100).to_integral_value(ROUND_HALF_UP))
    if cents <= 0:
        raise HardToolError("invalid_amount", f"a refund of {amount} is none; give an amount above 0")

    def pay(connection: sqlite3.Connection) -> int:
        _check_refundable(connection, order_id, cents)
        statement = "INSERT INTO refunds (order_id, amount_cents) VALUES (?, ?)"
        return _row_id(connection.execute(statement, (order_id, cents)))

    refund_id = _once(shop, "issue_refund", key, pay)
    return {"refund_id": refund_id, "order_id": order_id, "amount": cents / 100}


def reply(shop: Shop, order_id: str, text: str, key: str | None) -> dict[str, JSON]:
    """Put a reply to the order's customer into the outbox; with a key, at most once for that key.

    Raises:
        HardToolError: "order_not_found" or "invalid_text".
    """
    if not text.strip() or len(text) > _MAX_REPLY_CHARS:
        raise HardToolError("invalid_text", f"a reply has 1 to {_MAX_REPLY_CHARS} characters")
    with shop.reading() as connection:
        recipient = str(_order_row(connection, order_id)["email"])

    def send(connection: sqlite3.Connection) -> int:
        statement = "INSERT INTO outbox (order_id, recipient, text) VALUES (?, ?, ?)"
        return _row_id(connection.execute(statement, (order_id, recipient, text)))

    message_id = _once(shop, "send_reply", key, send)
    return {"message_id": message_id, "order_id": order_id, "recipient": recipient}


def _once(shop: Shop, tool: str, key: str | None, effect: Callable[[sqlite3.Connection], int]) -> int:
    """Have an effect and remember its key in one transaction; a known key only gives the old row's id."""
    with shop.writing() as connection:
        if key is None:
            return effect(connection)
        done = connection.execute("SELECT tool, row_id FROM effects WHERE key = ?", (key,)).fetchone()
        if done is not None:
            return _same_tool(done, tool, key)
        row_id = effect(connection)
        connection.execute("INSERT INTO effects (key, tool, row_id) VALUES (?, ?, ?)", (key, tool, row_id))
        return row_id


def _same_tool(done: sqlite3.Row, tool: str, key: str) -> int:
    if done["tool"] != tool:
        raise HardToolError(
            "key_conflict", f"the key {key} was used for {done['tool']}; use one key per call"
        )
    return int(done["row_id"])


def _row_id(cursor: sqlite3.Cursor) -> int:
    return int(cursor.lastrowid or 0)


def _order_row(connection: sqlite3.Connection, order_id: str) -> sqlite3.Row:
    found: sqlite3.Row | None = connection.execute(
        "SELECT * FROM orders WHERE order_id = ?", (order_id,)
    ).fetchone()
    if found is None:
        raise HardToolError("order_not_found", f"the shop has no order {order_id!r}; check the number")
    return found


def _check_refundable(connection: sqlite3.Connection, order_id: str, cents: int) -> None:
    paid = int(_order_row(connection, order_id)["amount_cents"])
    statement = "SELECT COALESCE(SUM(amount_cents), 0) FROM refunds WHERE order_id = ?"
    refunded = int(connection.execute(statement, (order_id,)).fetchone()[0])
    if refunded + cents > paid:
        left = (paid - refunded) / 100
        raise HardToolError("refund_too_large", f"order {order_id} has {left:.2f} left to refund")
