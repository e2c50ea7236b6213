"""Writes store_v1.db, the file of format 1 that later versions must still read. Run only for a new format.

Usage: python -m tests.checkpoints.data.make_store_v1 PATH
"""

import asyncio
import sys
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from checkpoints import Journal, open_store
from graph.plan.statuses import RunStatus, StepStatus
from tests.checkpoints.support import NOON, run, step

LARGE = {"rows": [{"order": f"A{number}", "note": "逾期"} for number in range(40)]}


class State(TypedDict, total=False):
    answer: str


def ask(state: State) -> State:
    """Wait for a person."""
    return {**state, "answer": interrupt({"question": "refund?"})}


async def write(path: Path) -> None:
    """Write one finished run, one waiting run with a large output, and one LangGraph thread that waits."""
    async with open_store(path) as opened:
        done = Journal(opened.store, "done.run")
        await done.put_plan(1, {"steps": [{"id": "s1", "action": "llm"}]})
        await done.commit(step(run_id="done.run", output={"n": 2**70}, started_at=NOON, ended_at=NOON))
        await done.put_run(run("done.run", status=RunStatus.SUCCEEDED, success=True, answer="ok"))
        waiting = Journal(opened.store, "waiting-run", inline_bytes=500)
        await waiting.commit(step(run_id="waiting-run", output=LARGE))
        await waiting.commit(step("s2", run_id="waiting-run", item=1, status=StepStatus.WAITING))
        await waiting.put_run(run("waiting-run", status=RunStatus.WAITING, pending=[{"id": "s2"}]))
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        graph.add_edge("ask", END)
        compiled = graph.compile(checkpointer=opened.checkpointer)
        await compiled.ainvoke({}, {"configurable": {"thread_id": "waiting-run"}})


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
