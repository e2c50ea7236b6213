"""The complaint about a late order, on a small shop: two lookups at once, a judgement, an approved reply."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langgraph.types import interrupt

from graph.demo.complaint_answers import recorded_answer
from graph.demo.walkthrough import STANDARD, Prelude, Stage, Variant, Walkthrough
from tools import ToolRegistry, policy
from tools.shop import Shop, open_shop, shop_tools

REFUND_LIMIT = 100.0
"""What is paid back without asking anybody, in the shop's currency."""

_DOWN = "logistics-down"
_REFUND = "complaint-refund"
_OUTAGE = timedelta(hours=1)


@policy(effect="read")
def ask_user(question: str) -> str:
    """Ask the user who handed the complaint in, and wait for the answer."""
    return str(interrupt(question)).strip()


def _path(place: Path, variant: str) -> Path:
    """The shop of a variant: what one does to the shop is not to be met by the others."""
    name = "shop" if variant == STANDARD else f"shop-{variant}"
    return place.with_name(f"{place.name}-{name}.db")


@contextmanager
def _stage(place: Path, variant: str) -> Iterator[Stage]:
    path = _path(place, variant)
    limit = REFUND_LIMIT if _VARIANTS[variant].template == _REFUND else None
    yield Stage(
        tools=ToolRegistry.of(*shop_tools(path, refund_limit=limit), ask_user),
        places=(f"shop database: {path}",),
        aftermath=lambda: _left(open_shop(path)),
    )


def _left(shop: Shop) -> Iterator[str]:
    """What the shop has paid back and sent."""
    for row in shop.rows("refunds"):
        amount = int(str(row["amount_cents"])) / 100
        yield f"refund {row['refund_id']} of order {row['order_id']}: {amount:.2f}"
    yield f"outbox in {shop.path}"
    sent = shop.rows("outbox")
    yield from (f"  {row['message_id']}  to {row['recipient']}: {row['text']}" for row in sent)
    if not sent:
        yield "  (nothing was sent)"


def _begin(variant: str) -> Callable[[Path], None]:
    """Each run of a variant finds its shop as it was on its first day."""
    return lambda place: open_shop(_path(place, variant)).start_over()


def _take_logistics_down(place: Path) -> None:
    open_shop(_path(place, _DOWN)).take_down("logistics", datetime.now(UTC) + _OUTAGE)


_EARLIER = Prelude(
    about="an earlier lookup of the shipment; then the logistics service goes down for an hour",
    template="shipment",
    params={"order_id": "A1234"},
    after=_take_logistics_down,
)

_VARIANTS = {
    STANDARD: Variant("the parcel has not left the warehouse", {"order_id": "A1234"}),
    "unknown-order": Variant(
        "there is no such order: nothing is tried again, the run asks you for its number",
        {"order_id": "A9999"},
    ),
    _DOWN: Variant(
        "the logistics service is down: retries, then an older result, and the reply says how old",
        {"order_id": "A1234"},
        prelude=_EARLIER,
    ),
    "auto-cancelled": Variant(
        "the order turns out to be cancelled: the plan no longer holds, another one explains",
        {"order_id": "A1236"},
        settings=("validation=key",),
    ),
    "refund": Variant("a refund above 100 waits for you", {"order_id": "A1234"}, template=_REFUND),
    "small-refund": Variant("a refund of 39 waits for nobody", {"order_id": "A1238"}, template=_REFUND),
}

COMPLAINT = Walkthrough(
    name="complaint",
    about="a complaint about a late order: two lookups at once, a judgement, a reply that you approve",
    template="complaint",
    variants={
        name: each if name == STANDARD else replace(each, begin=_begin(name))
        for name, each in _VARIANTS.items()
    },
    stage=_stage,
    answer=recorded_answer,
    recorded="what the model says",
)
