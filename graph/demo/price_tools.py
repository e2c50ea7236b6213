"""The tools of the price watch: what is watched, what it costs, what that comes to."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel, Field, ValidationError

from graph.demo.price_facts import facts_of
from graph.plan import JSON
from tools import HardToolError, SoftToolError, policy
from tools.builtin.address import read_allowed
from tools.builtin.fetch import WebLimits, WebRules, fetch

CURRENCY: Final = "EUR"

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_BOUNDS = WebLimits(max_bytes=100_000, seconds=10.0)


def _record(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list_of(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _record(**fields)}


_OFFER = _record(shop=_TEXT, product=_TEXT, currency=_TEXT, price={**_NUMBER, "exclusiveMinimum": 0})
_ROWS = _list_of(product=_TEXT, name=_TEXT, shop=_TEXT, price=_NUMBER, last=_NUMBER, change=_NUMBER)
_NAMES: Final = {"type": "array", "items": _TEXT}
_WHOLE: Final = {"type": "integer"}
_FACTS = _list_of(number=_WHOLE, text=_TEXT)
_MISSING = _list_of(shop=_TEXT, products=_NAMES, why=_TEXT)


def price_tools(watch_list: Path, market: str) -> list[Callable[..., Any]]:
    """The tools on a CSV file of what is watched (shop, product, name, last_price) and a market's address."""
    return [
        _watch_list(watch_list),
        _get_price(market),
        compare_prices,
        require_all_shops,
    ]


def _watch_list(file: Path) -> Callable[..., Any]:
    @policy(effect="read", output_schema=_list_of(shop=_TEXT, product=_TEXT, name=_TEXT, last_price=_NUMBER))
    def watch_list() -> list[dict[str, JSON]]:
        """What is watched: shop, product, and the price when it was last looked at."""
        with file.open(encoding="utf-8-sig", newline="") as rows:
            return [_watched(at, row) for at, row in enumerate(csv.DictReader(rows), 2)]

    return watch_list


def _watched(line: int, row: Mapping[str, str | None]) -> dict[str, JSON]:
    try:
        found = _Watched.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        message = f"line {line} of the watch list: {field}: {first['msg']}; correct it and start again"
        raise HardToolError("bad_watch_list", message) from None
    return found.model_dump()


class _Watched(BaseModel):
    """A line of the watch list."""

    shop: str = Field(min_length=1)
    product: str = Field(min_length=1)
    name: str
    last_price: float = Field(gt=0, allow_inf_nan=False)


def _get_price(market: str) -> Callable[..., Any]:
    rules = WebRules(allow=(read_allowed(market.removeprefix("http://")),))

    @policy(
        effect="read",
        timeout=15,
        max_attempts=3,
        backoff_base=0.5,
        service_arg="shop",
        max_concurrency=1,
        breaker=(3, 60),
        output_schema=_OFFER,
    )
    async def get_price(shop: str, product: str) -> dict[str, JSON]:
        """What a shop asks for a product today."""
        page = await fetch(f"{market}/{quote(shop)}/{quote(product)}", rules, _BOUNDS)
        try:
            offer = json.loads(page.body)
        except ValueError:
            raise SoftToolError(f"{shop} broke off in the middle of its answer") from None
        if not isinstance(offer, dict):
            raise HardToolError("no_offer", f"{shop} answered with something that is no offer")
        if (offer.get("shop"), offer.get("product")) != (shop, product):
            raise HardToolError("other_offer", f"{shop} answered about something that was not asked for")
        if offer.get("currency", CURRENCY) != CURRENCY:
            raise HardToolError("other_currency", f"{shop} does not answer in {CURRENCY}")
        return offer

    return get_price


@policy(effect="read", output_schema=_record(rows=_ROWS, missing=_MISSING, facts=_FACTS, expected=_WHOLE))
def compare_prices(
    watched: list[dict[str, Any]], answers: list[dict[str, Any] | None], failures: list[dict[str, Any]]
) -> dict[str, JSON]:
    """Prices by product, cheapest first; what they say, in numbered sentences; and the shops that gave none.

    Args:
        watched: What is watched.
        answers: What the shops answered, in the same order; null where one did not.
        failures: What became of the others: index, item, code and message.
    """
    rows = [_row(item, offer) for item, offer in zip(watched, answers, strict=True) if offer is not None]
    rows.sort(key=lambda row: (row["product"], row["price"]))
    facts: list[JSON] = [{"number": at, "text": text} for at, text in enumerate(facts_of(rows), 1)]
    return {
        "rows": list[JSON](rows),
        "missing": _missing(failures),
        "facts": facts,
        "expected": len(watched),
    }


def _row(item: Mapping[str, Any], offer: Mapping[str, Any]) -> dict[str, Any]:
    last, price = item["last_price"], offer["price"]
    return {
        "product": item["product"],
        "name": item["name"],
        "shop": item["shop"],
        "price": price,
        "last": last,
        "change": round((price - last) / last * 100, 1),
    }


def _missing(failures: Sequence[Mapping[str, Any]]) -> list[JSON]:
    """The failures by shop. Their codes say why; their messages may hold what a shop sent."""
    ordered = sorted(failures, key=lambda failure: failure["item"]["shop"])
    found: list[JSON] = []
    for shop, group in groupby(ordered, key=lambda failure: failure["item"]["shop"]):
        own = list(group)
        codes = ", ".join(sorted({failure["code"] for failure in own}))
        found.append({"shop": shop, "products": [each["item"]["product"] for each in own], "why": codes})
    return found


@policy(effect="read", output_schema=_TEXT)
def require_all_shops(rows: list[dict[str, Any]], missing: list[dict[str, Any]], report: str) -> str:
    """Says where the report is when all shops gave their prices; fails when one did not, and names it."""
    if missing:
        named = "; ".join(
            f"{each['shop']} ({', '.join(each['products'])}: {each['why']})" for each in missing
        )
        raise HardToolError("shops_missing", f"no prices of {named}; {report} has the others and says so")
    return f"{len(rows)} prices compared in {report}"
