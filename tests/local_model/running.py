"""One task through the product's own graph, and what became of it."""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from checkpoints import Journal, OpenedStore, open_store
from graph.build import build_graph
from graph.running import PlanrailGraph
from graph.state import Settings
from tests.local_model.office import DOCUMENTS, Office
from tests.local_model.tasks import Task

Json = dict[str, Any]
Validity = Literal["at once", "repaired", "none"]

BUDGETS = {"max_model_calls": 16, "max_tokens": 40_000, "max_tool_calls": 24, "max_output_tokens": 1_024}
SLOW = 300.0
"""Seconds for one model call: small machines are meant to be able to take part."""
PURSE = 200.0
"""What the person who answers the approvals pays back at most."""


@dataclass(frozen=True)
class Outcome:
    """A task's run: its document, all revisions of its plan, and how it is judged.

    `refused` counts the plans sent back to the model, `mended` the slips mended in code; `wrong` the writes
    that were not asked for, `repeated` those that happened again.
    """

    task: Task
    document: Json
    plans: Mapping[int, Any]
    events: Sequence[Json]
    office: Office
    seconds: float

    @property
    def refused(self) -> int:
        return sum(event["type"] == "plan_refused" for event in self.events)

    @property
    def mended(self) -> int:
        return sum(len(plan.get("repairs", ())) for plan in self.plans.values())

    @property
    def validity(self) -> Validity:
        """Whether the planner's first reply could be used, or a later one, or none."""
        first = [event["type"] for event in self.events if event["type"] in ("plan_refused", "plan_accepted")]
        usable = bool(self.plans) or self.document["answer"] is not None or not self.refused
        if "that can run" in str(self.document["reason"]) and not self.plans:
            usable = False
        return "none" if not usable else "repaired" if first[:1] == ["plan_refused"] else "at once"

    @property
    def wrong(self) -> int:
        task, office = self.task, self.office
        refunds = [pair for pair in office.refunds() if pair not in task.refunds.items()]
        replies = [order for order, text in office.replies() if not _holds(text, task.replies.get(order))]
        files = [name for name, text in office.written if not _holds(text, task.files.get(name))]
        return len(refunds) + len(replies) + len(files)

    @property
    def repeated(self) -> int:
        """Refunds, and messages to one customer or file with the same text, beyond the first."""
        made: list[Counter[Any]] = [
            self.office.refunds(),
            Counter(self.office.replies()),
            Counter(self.office.written),
        ]
        return sum(each.total() - len(each) for each in made)

    @property
    def right(self) -> bool:
        """Whether the end state is the one asked for, and the run says so truthfully."""
        return not self.faults

    @property
    def faults(self) -> list[str]:
        """What is not as asked for."""
        task, office = self.task, self.office
        answer = str(self.document["answer"])
        found = {
            "a wrong write": bool(self.wrong),
            "a repeated write": bool(self.repeated),
            "a refund is missing": bool(task.refunds.items() - office.refunds().keys()),
            "a reply is missing": bool(task.replies.keys() - {order for order, _ in office.replies()}),
            "a file is missing": bool(task.files.keys() - {name for name, _ in office.written}),
            "not the answer": task.answer is not None and not _holds(answer, task.answer),
            "not done": task.done and not self.document["success"],
            "claims success": not task.done and bool(self.document["success"]),
        }
        return [fault for fault, there in found.items() if there]


def _holds(text: str, pattern: str | None) -> bool:
    return pattern is not None and re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


async def run_task(
    task: Task, folder: Path, models: Mapping[str, BaseChatModel], settings: Mapping[str, Any] | None = None
) -> Outcome:
    """Run a task to its end in a new office.

    Args:
        task: What is asked for.
        folder: An empty folder for the office and the run's database.
        models: The models by role.
        settings: Settings beside the budgets.
    """
    office = Office.opened(folder)
    began = time.monotonic()
    with open_store(folder / "runs.db") as store:
        graph = _graph(office, models, store, settings or {})
        document, events = await _finished(graph, task)
        plans = (await Journal(store.store, task.name).load()).plans
    return Outcome(task, document, plans, events, office, time.monotonic() - began)


def _graph(
    office: Office,
    models: Mapping[str, BaseChatModel],
    store: OpenedStore,
    settings: Mapping[str, Any],
) -> PlanrailGraph:
    return build_graph(
        tools=office.tools(),
        models=models,
        settings=Settings.of({"llm_timeout": SLOW, **BUDGETS, **settings}),
        checkpointer=store.checkpointer,
        store=store.store,
    )


async def _finished(graph: PlanrailGraph, task: Task) -> tuple[Json, list[Json]]:
    """The document at the run's end and all events, with every question answered."""
    config: RunnableConfig = {"configurable": {"thread_id": task.name}}
    events: list[Json] = []
    given: Any = {"goal": task.goal}
    while True:
        document: Json = {}
        async for mode, chunk in graph.astream(given, config, stream_mode=["custom", "values"]):
            if mode == "custom":
                events.append(chunk)
            else:
                document = chunk
        if not document.get("pending"):
            return document, events
        given = Command(resume={each["id"]: decide(each) for each in document["pending"]})


def decide(question: Mapping[str, Any]) -> Json:
    """The scripted person: pays back small amounts, confirms all else, and stops what is in doubt."""
    if question["kind"] == "outcome":
        return {"decision": "stop", "reason": "nobody knows whether it happened"}
    amount = question["args"].get("amount", 0)
    if question["tool"] == "issue_refund" and not (isinstance(amount, (int, float)) and amount <= PURSE):
        return {"decision": "reject", "reason": f"more than {PURSE} is not paid back"}
    return {"decision": "approve"}


def touched_documents(office: Office) -> list[str]:
    """The office's first documents that no longer say what they said."""
    return [
        name for name, text in DOCUMENTS.items() if (office.folder / name).read_text(encoding="utf-8") != text
    ]
