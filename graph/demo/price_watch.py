"""Prices of several shops, one of which is in trouble: a partial report that names it and invents nothing."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph.demo.price_market import LAST, PRODUCTS, market
from graph.demo.recorded import data_in
from graph.demo.walkthrough import STANDARD, Stage, Variant, Walkthrough
from tools import ToolRegistry

SETTINGS = ("max_replans=0", "digest_chars=8000")
"""Shops that do not answer are no reason to plan anew: that is how one source was asked for three hours."""

CANNOT = '{"reply": {"cannot": "nothing else is recorded than what this example needs"}}'


@contextmanager
def _stage(place: Path, variant: str) -> Iterator[Stage]:
    # What fetches and renders takes a while to load, and every command line names the walkthroughs.
    from graph.demo.price_tools import price_tools  # noqa: PLC0415
    from tools.builtin import file_tools, html_tool  # noqa: PLC0415

    folder = _folder(place)
    watch_list, requests = folder / "watch-list.csv", folder / "requests.log"
    if place.parent.is_dir() and not watch_list.exists():  # without it the store refuses the run
        folder.mkdir(exist_ok=True)
        _write_watch_list(watch_list)
    with market(variant, requests) as address:
        yield Stage(
            tools=ToolRegistry.of(*price_tools(watch_list, address), *file_tools(folder), html_tool()),
            places=(
                f"watch list: {watch_list}",
                f"shops: {address}, on this machine while a command works",
                f"workspace: {folder}",
            ),
            aftermath=lambda: _aftermath(folder, requests),
        )


def _folder(place: Path) -> Path:
    return place.with_name(f"{place.name}-price-watch")


def _tidy_up(place: Path) -> None:
    """Take away what an earlier run left: its report would seem to be this one's."""
    for old in (_folder(place) / "requests.log", *_folder(place).rglob("*.html")):
        old.unlink(missing_ok=True)


def _write_watch_list(file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="") as rows:
        writer = csv.writer(rows)
        writer.writerow(["shop", "product", "name", "last_price"])
        for shop, prices in LAST.items():
            writer.writerows([shop, product, PRODUCTS[product], price] for product, price in prices.items())


def _aftermath(folder: Path, requests: Path) -> Iterator[str]:
    lines = requests.read_text("utf-8").splitlines() if requests.exists() else []
    counts = Counter(line.partition(" ")[0] for line in lines)
    yield f"requests so far, in {requests}"
    yield from (f"  {shop}: {count}" for shop, count in sorted(counts.items()))
    yield from (f"report in {page}" for page in sorted(folder.rglob("*.html")))


def recorded_choice(prompt: str) -> str:
    """What a model chose of the facts in its prompt: where products are cheapest, and the greatest change."""
    compared = data_in(prompt).get("compared")
    if not isinstance(compared, dict):
        return CANNOT
    facts: Any = compared["facts"]
    cheapest = [fact["number"] for fact in facts if " costs least " in fact["text"]]
    changed = [fact["number"] for fact in facts if " has " in fact["text"]]
    return json.dumps({"facts": [*cheapest[:4], *changed[:1]]})


def _variant(about: str) -> Variant:
    return Variant(about, settings=SETTINGS, begin=_tidy_up)


PRICE_WATCH = Walkthrough(
    name="price-watch",
    about="prices of several shops, one in trouble: a partial report that says so and makes nothing up",
    template="price-watch",
    variants={
        STANDARD: _variant("one shop refuses and sends half an answer: partial, exit code 1"),
        "healthy": _variant("all shops answer"),
        "all-down": _variant("no shop answers: the run stops and says why"),
    },
    stage=_stage,
    answer=recorded_choice,
    recorded="what matters most (chosen)",
)
