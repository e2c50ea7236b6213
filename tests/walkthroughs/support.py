"""A walkthrough with another model than the recorded one, and what several tests say of its data."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from checkpoints import open_store
from graph.build import build_graph
from graph.demo import RecordedModel, Walkthrough
from graph.demo.sales import LAST_MONDAY
from graph.state import Settings

Json = dict[str, Any]

COSTS = "http://transport-lab.example/cargo-bikes/cost-of-a-round"
"""A sample page of the research."""

WISH = f"生成从{LAST_MONDAY}开始的销售周报,发给wang@example.com"
"""A goal in words that the weekly report's template knows."""


def run_with(
    walkthrough: Walkthrough, settings: Sequence[str], folder: Path, answer: Callable[[str], str]
) -> Json:
    """The document of its standard variant, on files in `folder`, whose model answers as `answer` says."""
    plan = walkthrough.plan("standard")
    with (
        walkthrough.stage(folder / "planrail", "standard") as stage,
        open_store(folder / "runs.db") as opened,
    ):
        graph = build_graph(
            tools=stage.tools,
            models={"default": RecordedModel(answer=answer)},
            settings=Settings.of(None).with_overrides(settings),
            checkpointer=opened.checkpointer,
            store=opened.store,
        )
        wish: Any = {"goal": plan.goal, "plan": plan.to_json()}
        document: Json = graph.invoke(wish, {"configurable": {"thread_id": "t"}})
        return document


def sold(database: Path, first: date) -> list[tuple[str, str, int, int]]:
    """Region, product, quantity and cents of each sale of a week, added up by nobody."""
    week = {(first + timedelta(days)).isoformat() for days in range(7)}
    with closing(sqlite3.connect(database)) as base:
        rows = base.execute("SELECT day, region, product, quantity, amount_cents FROM sales").fetchall()
    return [row[1:] for row in rows if row[0] in week]
