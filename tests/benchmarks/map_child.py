"""One process's share of a long map: started anew after it was killed, it goes on where the journal is."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

from checkpoints import open_store
from graph.build import build_graph
from graph.intake import RunNotFoundError
from graph.running import PlanrailGraph
from tools import IdempotencyKey, policy

CONFIG: Any = {"configurable": {"thread_id": "r"}}


async def main(folder: Path, tool: str, items: int, kill_at: int) -> None:
    """Run, or go on with, the map in a folder; with `kill_at` end at that call as by a power cut."""
    calls = os.open(folder / "calls", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    made = 0

    def count(number: int, key: str) -> int:
        nonlocal made
        made += 1
        os.write(calls, f"{number} {key}\n".encode())
        if made == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    @policy(effect="read")
    async def look(number: int) -> int:
        """Do nothing, and count it."""
        return count(number, "-")

    @policy(effect="write", idempotent=True, risk="low")
    async def put(number: int, key: Annotated[str, IdempotencyKey]) -> int:
        """Do nothing under a key, and count it."""
        return count(number, key)

    @policy(effect="read")
    async def numbers(count: int) -> list[dict[str, int]]:
        """Count."""
        return [{"number": number} for number in range(count)]

    with open_store(folder / "runs.db") as opened:
        tools = [look, put, numbers]
        graph = build_graph(tools=tools, checkpointer=opened.checkpointer, store=opened.store)
        document = await _document(graph, tool, items)
    results = document["steps"][1]["output"]["results"]
    assert document["status"] == "succeeded", document["reason"]
    assert results == list(range(items))


async def _document(graph: PlanrailGraph, tool: str, items: int) -> dict[str, Any]:
    step = {"action": "tool", "tool": tool, "args": {"number": "${item.number}"}}
    steps = [
        {"id": "list", "action": "tool", "tool": "numbers", "args": {"count": items}},
        {"id": "each", "action": "map", "over": "${list}", "step": step},
    ]
    try:
        return dict(await graph.ainvoke(None, CONFIG))
    except RunNotFoundError:
        return dict(await graph.ainvoke({"goal": "count", "plan": {"steps": steps}}, CONFIG))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
