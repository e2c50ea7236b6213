"""Shops on this machine that tell their prices, some of them badly."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from graph.demo.serving import Answer, Asked, note_line, serving

PRODUCTS: Final[Mapping[str, str]] = {
    "FB-20": "folding bike",
    "CT-5": "cargo trailer",
    "CS-2": "child seat",
}
PRICES: Final[Mapping[str, Mapping[str, float]]] = {
    "amber": {"FB-20": 879.0, "CT-5": 349.5, "CS-2": 119.9},
    "birch": {"FB-20": 899.0, "CT-5": 329.0, "CS-2": 124.0},
    "kontor": {"FB-20": 845.75, "CT-5": 361.25, "CS-2": 112.35},
    "竹林": {"FB-20": 918.0, "CT-5": 338.0, "CS-2": 109.0},
}
"""What the shops ask today, in EUR."""

LAST: Final[Mapping[str, Mapping[str, float]]] = {
    "amber": {"FB-20": 899.0, "CT-5": 349.5, "CS-2": 119.9},
    "birch": {"FB-20": 899.0, "CT-5": 339.0, "CS-2": 119.0},
    "kontor": {"FB-20": 855.0, "CT-5": 365.0, "CS-2": 115.0},
    "竹林": {"FB-20": 918.0, "CT-5": 338.0, "CS-2": 114.0},
}
"""What they asked when they were last looked at."""

BROKEN: Final[Mapping[str, tuple[str, ...]]] = {
    "standard": ("kontor",),
    "healthy": (),
    "all-down": tuple(PRICES),
}
"""The shops in trouble, by variant."""

_RETRY_AFTER = 1


@contextmanager
def market(variant: str, log: Path) -> Iterator[str]:
    """Have the shops open, and note each request in a file; yields the market's address.

    `/SHOP/PRODUCT` gives `{"shop", "product", "price", "currency"}`. A shop in trouble refuses the first
    request and asks for patience, breaks off in the middle of the second answer, leaves the price out of
    the third, and begins again.
    """
    counted: Counter[str] = Counter()
    lock = threading.Lock()

    def respond(asked: Asked) -> Answer:
        shop, _, product = asked.path.strip("/").partition("/")
        note_line(log, f"{shop} {product}")
        if product not in PRICES.get(shop, {}):
            return Answer(b'{"error": "no such product"}', 404)
        with lock:
            turn = counted[shop]
            counted[shop] += 1
        answer = _TROUBLES[turn % len(_TROUBLES)] if shop in BROKEN[variant] else _price
        return answer(shop, product)

    with serving(respond) as address:
        yield address


def _offer(shop: str, product: str) -> dict[str, object]:
    return {"shop": shop, "product": product, "currency": "EUR", "price": PRICES[shop][product]}


def _price(shop: str, product: str) -> Answer:
    return Answer(json.dumps(_offer(shop, product)).encode())


def _refused(_shop: str, _product: str) -> Answer:
    return Answer(b'{"error": "too many requests"}', 429, headers={"Retry-After": str(_RETRY_AFTER)})


def _half(shop: str, product: str) -> Answer:
    """An answer that ends within the price: whoever mends it gets another number."""
    whole = json.dumps(_offer(shop, product)).encode()
    return Answer(whole[: whole.index(b'"price": ') + len(b'"price": 1')])


def _without_price(shop: str, product: str) -> Answer:
    offer = _offer(shop, product)
    del offer["price"]
    return Answer(json.dumps(offer).encode())


_TROUBLES: tuple[Callable[[str, str], Answer], ...] = (_refused, _half, _without_price)
