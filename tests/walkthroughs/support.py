"""A walkthrough with another model in the place of the recorded one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from checkpoints import open_store
from graph.build import build_graph
from graph.demo import RecordedModel, Walkthrough
from graph.state import Settings

Json = dict[str, Any]


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
