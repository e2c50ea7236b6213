"""A clock that only moves when somebody sleeps, and graphs that go by it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from checkpoints import Journal, StepEntry, open_store
from graph.build import build_graph
from graph.running import PlanrailGraph

Json = dict[str, Any]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_TURNS = 20
"""Turns of the event loop that everybody else gets before time moves on."""


class Clock:
    """Time that stands still until the first of all sleepers is due."""

    def __init__(self) -> None:
        self.time = NOON
        self.slept: list[float] = []
        self.asked = asyncio.Event()
        self._due: list[datetime] = []

    def now(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.asked.set()
        due = self.time + timedelta(seconds=seconds)
        self._due.append(due)
        try:
            while self.time < due:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                if due == min(self._due):
                    self.time = max(self.time, due)
        finally:
            self._due.remove(due)


@dataclass
class House:
    """One database file and one built graph: every run in it is a thread of its own."""

    path: Path
    tools: Sequence[Any]
    clock: Clock = field(default_factory=Clock)
    settings: Json = field(default_factory=dict)
    model: Any = None

    @contextmanager
    def opened(self) -> Iterator[PlanrailGraph]:
        """A graph as a new process would build it."""
        with open_store(self.path) as opened:
            yield self.graph(opened.checkpointer, opened.store)

    def graph(self, checkpointer: Any, store: Any) -> PlanrailGraph:
        graph = build_graph(
            tools=list(self.tools),
            models=self.model,
            settings=self.settings,
            checkpointer=checkpointer,
            store=store,
        )
        graph.engine = replace(graph.engine, now=self.clock.now, sleep=self.clock.sleep, jitter=lambda: 0.0)
        return graph

    def entries(self, run_id: str) -> dict[str, StepEntry]:
        with open_store(self.path) as opened:
            return asyncio.run(Journal(opened.store, run_id).load()).steps


def step(step_id: str, tool: str, *after: str, **more: Any) -> Json:
    args = more.pop("args", {})
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": after, **more}


def wish(*steps: Json) -> Any:
    return {"goal": "g", "plan": {"goal": "g", "steps": list(steps)}}


def thread(name: str = "t") -> Any:
    return {"configurable": {"thread_id": name}}


def rows(document: Json) -> dict[str, Json]:
    return {row["id"]: row for row in document["steps"]}


def run(graph: PlanrailGraph, *steps: Json, name: str = "t", **more: Any) -> Json:
    document: Json = graph.invoke(wish(*steps), thread(name), **more)
    return document
