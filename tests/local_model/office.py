"""A small office on real files: the demo shop, a folder of documents, and what was done to them."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools import HardToolError, ToolRegistry, policy
from tools.shop import Shop, open_shop, shop_tools

DOCUMENTS = {
    "policy.txt": "Cancelled orders are refunded in full within 3 days. Delayed orders get no refund.",
    "complaint.txt": "From: Omar Said. My order A1236 was cancelled and I want my money back.",
    "询问.txt": "客户安娜问：订单 A1235 的包裹现在在哪里？",
}

KEYS = {"query_order": "order_id", "query_logistics": "order_id", "query_stock": "sku"}
"""What a lookup goes by, which is not to be made up: it does no harm there, but no good either."""


@dataclass
class Office:
    """The shop's five tools and three of the office's own; `written` are the calls that wrote a file."""

    folder: Path
    shop: Shop
    written: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def opened(cls, folder: Path) -> "Office":
        """An office as it is in the morning, in a new folder."""
        for name, text in DOCUMENTS.items():
            (folder / name).write_text(text, encoding="utf-8")
        return cls(folder, open_shop(folder / "shop.db"))

    def tools(self) -> ToolRegistry:
        @policy(effect="read", grounded=frozenset({"customer"}))
        def find_orders(customer: str) -> list[dict[str, Any]]:
            """Find the orders of a customer by the customer's name."""
            rows = self.shop.rows("orders")
            found = [row for row in rows if customer.strip().casefold() == str(row["customer"]).casefold()]
            if not found:
                raise HardToolError("customer_not_found", f"no order of a customer named {customer!r}")
            return [{"order_id": row["order_id"], "status": row["status"]} for row in found]

        @policy(effect="read", grounded=frozenset({"name"}))
        def read_file(name: str) -> str:
            """Read a text file of the office."""
            path = self._path(name)
            if not path.is_file():
                raise HardToolError("file_not_found", f"the office has no file {name!r}")
            return path.read_text(encoding="utf-8")

        @policy(effect="write", idempotent=True)
        def write_file(name: str, text: str) -> dict[str, Any]:
            """Write a text file of the office."""
            self._path(name).write_text(text, encoding="utf-8")
            self.written.append((name, text))
            return {"name": name, "characters": len(text)}

        shop = {tool.__name__: tool for tool in shop_tools(self.shop.path)}
        for name, key in KEYS.items():
            policy(effect="read", grounded=frozenset({key}))(shop[name])
        return ToolRegistry.of(*shop.values(), find_orders, read_file, write_file)

    def _path(self, name: str) -> Path:
        if not name.endswith(".txt") or name != Path(name).name:
            raise HardToolError("bad_name", f"{name!r} is no file name of the office: give NAME.txt")
        return self.folder / name

    def refunds(self) -> Counter[tuple[str, int]]:
        """Refunds paid, as (order, cents)."""
        return Counter((str(r["order_id"]), _int(r["amount_cents"])) for r in self.shop.rows("refunds"))

    def replies(self) -> list[tuple[str, str]]:
        """Replies sent, as (order, text)."""
        return [(str(row["order_id"]), str(row["text"])) for row in self.shop.rows("outbox")]


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
