"""What prices say, in sentences: written by code, so that a model that tells of them can only choose."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

Row = Mapping[str, Any]


def facts_of(rows: Sequence[Row]) -> list[str]:
    """True sentences on prices: where each product is cheapest, how far the shops differ, what has changed.

    Args:
        rows: `{"product", "name", "shop", "price", "last", "change"}` each, by product and then by price.
            `change` is in percent.
    """
    by_product = [list(group) for _, group in groupby(rows, key=lambda row: row["product"])]
    changed = sorted((row for row in rows if row["change"]), key=lambda row: -abs(row["change"]))
    return [*(fact for own in by_product for fact in _of_product(own)), *map(_change, changed)]


def _of_product(rows: Sequence[Row]) -> Iterator[str]:
    least, most = rows[0]["price"], rows[-1]["price"]
    where = " and ".join(row["shop"] for row in rows if row["price"] == least)
    yield f"The {_name(rows[0])} costs least at {where}: {least:.2f} EUR."
    if most > least:
        yield f"The shops differ by {(most - least) / least * 100:.1f} % on the {_name(rows[0])}."


def _change(row: Row) -> str:
    way = "risen" if row["change"] > 0 else "fallen"
    now = f"{row['price']:.2f} EUR"
    return f"The {_name(row)} at {row['shop']} has {way} by {abs(row['change']):.1f} % to {now}."


def _name(row: Row) -> str:
    return f"{row['name']} {row['product']}"
