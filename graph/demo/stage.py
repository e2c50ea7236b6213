"""What the demo plays on: a shop database beside the run database, a model, and words around them."""

from collections.abc import Iterator
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from graph.demo.recorded import RecordedModel
from graph.models import models_from_environment
from graph.plan import Plan, to_text
from tools import ToolRegistry
from tools.shop import open_shop, shop_tools


def shop_beside(database: str) -> Path:
    """Where the demo keeps its shop: `runs.db` gets `runs-shop.db`."""
    path = Path(database).resolve()
    return path.with_name(f"{path.stem}-shop.db")


def demo_tools(shop: Path) -> ToolRegistry:
    """The shop's tools on that database; their first call makes it where it is not there."""
    return ToolRegistry.of(*shop_tools(shop))


def demo_models() -> dict[str, BaseChatModel]:
    """The environment's models, else the recorded answer."""
    return models_from_environment() or {"default": RecordedModel()}


def demo_intro(plan: Plan, shop: Path) -> Iterator[str]:
    """The plan, and where its parts come from."""
    yield "The complaint about a late order, as a plan:"
    yield ""
    yield to_text(plan).rstrip()
    yield ""
    yield f"shop database: {shop}"
    if models_from_environment():
        yield "the judgement (s3) is asked of the endpoint that OPENAI_API_KEY or OPENAI_BASE_URL names"
    else:
        yield (
            "the judgement (s3) is a RECORDED answer, since no model is configured "
            "(OPENAI_API_KEY or OPENAI_BASE_URL would name one)"
        )
    yield ""


def outbox_lines(shop: Path) -> Iterator[str]:
    """What the shop has sent, as its outbox says."""
    yield ""
    yield f"outbox in {shop}"
    sent = open_shop(shop).rows("outbox")
    yield from (f"  {row['message_id']}  to {row['recipient']}: {row['text']}" for row in sent)
    if not sent:
        yield "  (nothing was sent)"
