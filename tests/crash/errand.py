"""The run that is killed: twelve steps with four writes on the demo shop, in a process of its own.

Everything that happens outside is written to files that outlive the process: the shop's own database,
a line per tool call and per question to the model.
"""

import functools
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from langgraph.types import Command

from checkpoints import Journal, OpenedStore, open_store
from graph.build import build_graph
from graph.intake import RunNotFoundError
from graph.plan import PlanrailError
from graph.running import PlanrailGraph
from tests.support.models import says
from tools.shop import shop_tools

RUN_ID = "errand"
PLANNED = " as planned"
CONFIG: Any = {"configurable": {"thread_id": RUN_ID}}
ORDERS = ("A1234", "A1235")
REFUNDS = {"A1234": 10, "A1235": 5}
WRITES = {f"{kind}_{order}" for kind in ("refund", "reply") for order in ORDERS}


def _tool(step_id: str, tool: str, *needs: str, **args: object) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": list(needs)}


def _about(order: str) -> list[dict[str, Any]]:
    return [
        _tool(f"order_{order}", "query_order", order_id=order),
        _tool(f"way_{order}", "query_logistics", order_id=order),
        {
            "id": f"judge_{order}",
            "action": "llm",
            "instruction": f"judge_{order}: ${{order_{order}.status}}, ${{way_{order}.status}}",
        },
        _tool(f"refund_{order}", "issue_refund", f"judge_{order}", order_id=order, amount=REFUNDS[order]),
        _tool(f"reply_{order}", "send_reply", order_id=order, text=f"${{judge_{order}}}"),
    ]


PLAN: dict[str, Any] = {
    "goal": "make up for two late orders",
    "steps": [
        *_about(ORDERS[0]),
        *_about(ORDERS[1]),
        _tool("stock", "query_stock", sku="${order_A1234.sku}"),
        {
            "id": "summary",
            "action": "llm",
            "instruction": "summary: ${refund_A1234.amount}, ${refund_A1235.amount}, ${stock.quantity}",
            "depends_on": [f"reply_{order}" for order in ORDERS],
        },
    ],
}


class Boundaries:
    """Counts the moments around each journal and checkpoint write and each effect; kills at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self.passed = 0
        self._kill_at = kill_at
        self._lock = threading.Lock()

    def point(self) -> None:
        with self._lock:
            self.passed += 1
            if self.passed == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)  # the signal may take a moment; nothing may happen in it

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            self.point()
            done = await method(*args, **kwargs)
            self.point()
            return done

        return call

    def watch(self, opened: OpenedStore) -> None:
        saver, store = opened.checkpointer, opened.store
        saver.aput = self.around(saver.aput)  # type: ignore[method-assign]
        saver.aput_writes = self.around(saver.aput_writes)  # type: ignore[method-assign]
        store.abatch = self.around(store.abatch)  # type: ignore[method-assign]


class Errand:
    """One process's share of the run, in a folder that all of them share."""

    plan = PLAN

    def __init__(self, folder: Path, *, idempotent: bool, kill_at: int | None, slow: float) -> None:
        self.folder = folder
        self.boundaries = Boundaries(kill_at)
        self._slow = slow
        self._tools = [self._around(tool) for tool in self.tools(idempotent=idempotent)]

    def tools(self, *, idempotent: bool) -> list[Callable[..., Any]]:
        return shop_tools(self.folder / "shop.db", idempotent=idempotent, log=self._note_call)

    def truth_about(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What an honest person answers."""
        return truth_about(self.folder, question["step"])

    def graph(self, opened: OpenedStore) -> PlanrailGraph:
        return build_graph(
            tools=self._tools,
            models={"executor": says(self._judge)},
            settings={"approve_at": "never", "backoff_base": 0},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )

    def _judge(self, prompt: str) -> str:
        """Say the step back, and write down that it was asked for."""
        asked = prompt.partition("Your step: ")[2].partition("\n\n")[0]
        append(self.folder / "asked", asked.partition(":")[0])
        return f"I say: {asked}"

    def _note_call(self, tool: str, args: Mapping[str, Any]) -> None:
        append(self.folder / "calls", f"{tool} {args['order_id'] if 'order_id' in args else args['sku']}")
        time.sleep(self._slow)
        self.boundaries.point()

    def _around(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = tool(*args, **kwargs)
            self.boundaries.point()
            return result

        return call


def append(path: Path, line: str) -> None:
    """One line that is there after a kill."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


async def go_on(errand: Errand, *, answer: bool) -> dict[str, Any]:
    """Start the run or go on with it; with `answer`, decide what is in doubt until it has ended."""
    with open_store(errand.folder / "runs.db") as opened:
        before = await journaled(opened)
        counts = {name: len(lines(errand.folder / name)) for name in ("calls", "asked")}
        errand.boundaries.watch(opened)
        graph = errand.graph(opened)
        try:
            document = await graph.ainvoke(None, CONFIG)
        except RunNotFoundError:
            document = await graph.ainvoke({"goal": "do it", "plan": errand.plan}, CONFIG)
        except PlanrailError as error:
            return {"error": error.code}
        first = document
        calls_before_answers = lines(errand.folder / "calls")
        while answer and document["pending"]:
            truth = {item["step"]: errand.truth_about(item) for item in document["pending"]}
            document = await graph.ainvoke(Command(resume=truth), CONFIG)
        return {
            "before": before,
            "new_calls": lines(errand.folder / "calls")[counts["calls"] :],
            "new_questions": lines(errand.folder / "asked")[counts["asked"] :],
            "calls_before_answers": calls_before_answers,
            "first": told(first),
            "last": told(document),
            "points": errand.boundaries.passed,
        }


async def journaled(opened: OpenedStore) -> dict[str, str]:
    log = await Journal(opened.store, RUN_ID).load()
    planned = [step_id for step_id, entry in log.steps.items() if entry.planned is not None]
    statuses = {step_id: entry.status.value for step_id, entry in log.steps.items()}
    return statuses | {f"{step_id}{PLANNED}": "planned" for step_id in planned}


def told(document: Mapping[str, Any]) -> dict[str, Any]:
    steps = {row["id"]: row["status"] for row in document["steps"]}
    pending = [item["step"] for item in document["pending"]]
    return {"status": document["status"], "steps": steps, "pending": pending, "answer": document["answer"]}


def effects(folder: Path) -> list[str]:
    """Every effect there has been, by the step that makes it; a step twice when it happened twice."""
    path = folder / "shop.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=10)) as base:
        found = [f"refund_{order}" for (order,) in base.execute("SELECT order_id FROM refunds")]
        return found + [f"reply_{order}" for (order,) in base.execute("SELECT order_id FROM outbox")]


def truth_about(folder: Path, step_id: str) -> dict[str, Any]:
    """What a person who looks into the shop's books says."""
    if step_id not in effects(folder):
        return {"decision": "not_happened"}
    order = step_id.rpartition("_")[2]
    return {"decision": "happened", "result": {"amount": REFUNDS[order]}}


def write_result(folder: Path, name: str, result: Mapping[str, Any]) -> None:
    (folder / name).write_text(json.dumps(result), "utf-8")
