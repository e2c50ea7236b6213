"""The batch: descriptions of three hundred products, a map that a killed process goes on with."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.demo.products import COUNT, make_products
from graph.demo.walkthrough import STANDARD, Stage, Variant, Walkthrough
from graph.plan import JSON
from tools import ToolRegistry
from tools.builtin import file_tools, html_tool, sql_tool, tables_in

_PAGES = Path(__file__).with_name("pages")
_FACTS = re.compile(r"^Your step: .*?(\{.*?\})", re.MULTILINE | re.DOTALL)
_PACE_SECONDS = 0.1
"""Fast enough to wait for, slow enough to be killed on the way."""


@contextmanager
def _stage(place: Path, _variant: str) -> Iterator[Stage]:
    products, folder = place.with_name(f"{place.name}-products.db"), place.with_name(f"{place.name}-batch")
    if place.parent.is_dir():  # else the store refuses it
        make_products(products)
    tools = [sql_tool(products, about=_about(products)), html_tool(_PAGES), *file_tools(folder)]
    yield Stage(
        tools=ToolRegistry.of(*tools),
        places=(f"products: {products}", f"folder for the catalogue: {folder}"),
        aftermath=lambda: _left(folder),
    )


def _about(products: Path) -> str:
    return tables_in(products) if products.exists() else ""


def _left(folder: Path) -> Iterator[str]:
    """The files of the catalogue, with what is in them."""
    catalogue, failures = folder / "catalogue.html", folder / "failures.json"
    if not catalogue.exists() or not failures.exists():
        yield f"no catalogue in {folder} yet"
        return
    missing: list[dict[str, JSON]] = json.loads(failures.read_text("utf-8"))
    yield f"catalogue: {catalogue}"
    yield f"{len(missing)} product{'' if len(missing) == 1 else 's'} without a description: {failures}"


def recorded_answer(prompt: str) -> str:
    """A description of the product whose facts the prompt shows, out of those that are there."""
    found = _FACTS.search(prompt)
    if found is None:
        return json.dumps({"reply": {"cannot": "太多商品缺少事实,请先补全再重新生成"}}, ensure_ascii=False)
    facts: dict[str, str | None] = json.loads(found[1])
    made_of = f",{facts['material']}材质" if facts.get("material") else ""
    looks = f"{facts.get('name')}{made_of},尺寸 {facts.get('size')},颜色为{facts.get('colour')}。"
    return f"{looks}简洁耐用,适合日常使用。"


BATCH = Walkthrough(
    name="batch",
    about="a description for each product, some lack facts; kill it on the way and resume it",
    template="batch",
    variants={
        STANDARD: Variant(f"{COUNT} products", {"count": COUNT}),
        "short": Variant("the first 40 of them: for a model that costs money", {"count": 40}),
    },
    stage=_stage,
    answer=recorded_answer,
    recorded="each description",
    pace=_PACE_SECONDS,
)
