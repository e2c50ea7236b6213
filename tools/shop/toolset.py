"""The demo shop's actions as tools with honest policies."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from graph.plan import JSON
from tools.policy import IdempotencyKey, policy
from tools.shop import actions
from tools.shop.database import Shop, open_shop

Log = Callable[[str, Mapping[str, JSON]], None]


def shop_tools(
    path: Path | str,
    *,
    idempotent: bool = True,
    refund_limit: float | None = None,
    log: Log | None = None,
) -> list[Callable[..., Any]]:
    """Return query_order, query_logistics, query_stock, issue_refund and send_reply.

    The database is opened, and created where it is missing, by the first call.

    Args:
        path: The shop's database file.
        idempotent: Whether the writes take the idempotency key and have one effect per key. If not, their
            policies say so.
        refund_limit: The largest refund that needs no approval; None has a person approve every one.
        log: Called at the start of each tool call with the tool's name and arguments.
    """
    noted = log or _ignore

    def shop() -> Shop:
        return open_shop(path)

    refund, reply = _keyed_writes(shop, noted) if idempotent else _plain_writes(shop, noted)
    declared = _declared(refund, reply, idempotent=idempotent, refund_limit=refund_limit)
    return [*_reads(shop, noted), *declared]


def tools_from_environment() -> list[Callable[..., Any]]:
    """Return the tools of the shop in `PLANRAIL_SHOP_DB`, by default `shop.db` in the working directory.

    `PLANRAIL_SHOP_IDEMPOTENT=0` gives writes that do not take the key.
    """
    path = Path(os.environ.get("PLANRAIL_SHOP_DB", "shop.db"))
    return shop_tools(path, idempotent=os.environ.get("PLANRAIL_SHOP_IDEMPOTENT", "1") != "0")


def _ignore(tool: str, args: Mapping[str, JSON]) -> None:
    """Note nothing."""


def _reads(shop: Callable[[], Shop], log: Log) -> list[Callable[..., Any]]:
    @policy(effect="read", timeout=15.0)
    def query_order(order_id: str) -> dict[str, JSON]:
        """Look up an order: customer, article (sku), quantity, amount, status and dates."""
        log("query_order", {"order_id": order_id})
        return actions.order(shop(), order_id)

    @policy(effect="read", timeout=15.0, cache_scope="shared", fallback="stale_cache")
    def query_logistics(order_id: str) -> dict[str, JSON]:
        """Look up where an order's parcel is: carrier, tracking number, status, location, note."""
        log("query_logistics", {"order_id": order_id})
        return actions.logistics(shop(), order_id)

    @policy(effect="read", timeout=15.0)
    def query_stock(sku: str) -> dict[str, JSON]:
        """Look up an article's stock: warehouse, quantity, and the date of the next delivery."""
        log("query_stock", {"sku": sku})
        return actions.stock(shop(), sku)

    return [query_order, query_logistics, query_stock]


_REFUND = "Pay back part or all of an order, in the shop's currency."
_REPLY = "Send a reply to the customer of an order."


Writes: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]


def _keyed_writes(shop: Callable[[], Shop], log: Log) -> Writes:
    def issue_refund(order_id: str, amount: float, key: Annotated[str, IdempotencyKey]) -> dict[str, JSON]:
        log("issue_refund", {"order_id": order_id, "amount": amount})
        return actions.refund(shop(), order_id, amount, key)

    def send_reply(order_id: str, text: str, key: Annotated[str, IdempotencyKey]) -> dict[str, JSON]:
        log("send_reply", {"order_id": order_id, "text": text})
        return actions.reply(shop(), order_id, text, key)

    return issue_refund, send_reply


def _plain_writes(shop: Callable[[], Shop], log: Log) -> Writes:
    def issue_refund(order_id: str, amount: float) -> dict[str, JSON]:
        log("issue_refund", {"order_id": order_id, "amount": amount})
        return actions.refund(shop(), order_id, amount, None)

    def send_reply(order_id: str, text: str) -> dict[str, JSON]:
        log("send_reply", {"order_id": order_id, "text": text})
        return actions.reply(shop(), order_id, text, None)

    return issue_refund, send_reply


def _declared(
    issue_refund: Callable[..., Any],
    send_reply: Callable[..., Any],
    *,
    idempotent: bool,
    refund_limit: float | None,
) -> list[Callable[..., Any]]:
    issue_refund.__doc__, send_reply.__doc__ = _REFUND, _REPLY
    ruled: dict[str, Any] = {"risk": "high"}
    if refund_limit is not None:
        ruled = {"risk": "medium", "approve_when": (f"double(amount) > {refund_limit:.2f}",)}
    return [
        policy(effect="write", idempotent=idempotent, timeout=15.0, money=True, **ruled)(issue_refund),
        policy(effect="write", idempotent=idempotent, timeout=15.0, risk="medium")(send_reply),
    ]
