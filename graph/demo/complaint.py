"""The complaint about a late order, on a small shop: two lookups at once, a judgement, an approved reply."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.demo.walkthrough import STANDARD, Stage, Variant, Walkthrough
from tools import ToolRegistry
from tools.shop import open_shop, shop_tools

RECORDED_JUDGEMENT = (
    "您好,非常抱歉让您久等。订单 A1234 延迟发货是因为武汉仓缺货,包裹还没有交给承运商,补货后会立即为您发出。"
    "为表歉意,我们将为您补偿一张 20 元优惠券;如果您不想继续等待,也可以随时申请全额退款。"
)


@contextmanager
def _stage(place: Path, variant: str) -> Iterator[Stage]:
    shop = place.with_name(f"{place.name}-shop.db")
    yield Stage(
        tools=ToolRegistry.of(*shop_tools(shop)),
        places=(f"shop database: {shop}",),
        aftermath=lambda: _outbox(shop),
    )


def _outbox(shop: Path) -> Iterator[str]:
    """What the shop has sent, as its outbox says."""
    yield f"outbox in {shop}"
    sent = open_shop(shop).rows("outbox")
    yield from (f"  {row['message_id']}  to {row['recipient']}: {row['text']}" for row in sent)
    if not sent:
        yield "  (nothing was sent)"


COMPLAINT = Walkthrough(
    name="complaint",
    about="a complaint about a late order: two lookups at once, a judgement, a reply that you approve",
    template="complaint",
    variants={STANDARD: Variant("the parcel has not left the warehouse", {"order_id": "A1234"})},
    stage=_stage,
    answer=lambda _prompt: RECORDED_JUDGEMENT,
    recorded="the judgement (s3)",
)
