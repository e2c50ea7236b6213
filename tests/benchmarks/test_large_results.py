"""What large results cost: stored once, and out of the way of who only lists runs."""

import asyncio
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from checkpoints import RunEntry, list_runs, open_store
from graph.plan import RunStatus
from tests.benchmarks.conftest import Figures
from tests.benchmarks.measuring import bytes_of
from tests.benchmarks.plans import graph_on
from tools import policy

STEPS, EACH, HUGE = 40, 200_000, 30_000_000
LIMIT_SIZE = 5.0
LIMIT_LISTING = 2.0  # seconds
LIMIT_MEMORY = 1_000_000  # bytes
RESUMES = 20
THREAD: Any = {"configurable": {"thread_id": "t"}}


@policy(effect="read")
async def report(i: int, size: int, before: str) -> str:
    """Return a text of some size, unlike any other."""
    return f"result {i:08}\n" * (size // 16)


@policy(effect="write", risk="high")
async def publish(text: str) -> str:
    """Wait for a person."""
    return text


@pytest.mark.benchmark
async def test_large_results_are_stored_once_and_do_not_slow_the_list_of_runs(
    tmp_path: Path, figures: Figures
) -> None:
    path = tmp_path / "runs.db"
    begin = time.perf_counter()
    with open_store(path) as opened:
        graph = graph_on(opened, [report, publish])
        assert (await graph.ainvoke({"plan": _plan()}, THREAD))["status"] == "waiting"
        took = time.perf_counter() - begin
        for _ in range(RESUMES):
            await graph.ainvoke(None, THREAD)
    results = STEPS * EACH + HUGE
    size, (listing, memory) = bytes_of(path), await asyncio.to_thread(_list, path)

    what = f"{STEPS} results of {EACH // 1000} KB, one of {HUGE // 10**6} MB"
    figures(f"database / results, {what}, {RESUMES} resumes", f"{size / results:.2f}x", f"{LIMIT_SIZE:.2f}x")
    figures("  time of the run", f"{took:.1f} s", "-")
    listed = f"{listing * 1e3:.0f} ms, {memory / 1e3:,.0f} KB of memory"
    figures("  list of runs", listed, f"{LIMIT_LISTING:.0f} s, {LIMIT_MEMORY / 1e3:,.0f} KB")
    assert size < LIMIT_SIZE * results
    assert listing < LIMIT_LISTING
    assert memory < LIMIT_MEMORY


def _plan() -> dict[str, Any]:
    """A chain in which every step is given the result of the one before; a person is asked at its end."""
    sizes = [EACH] * STEPS + [HUGE]
    steps = [
        {
            "id": f"s{i}",
            "action": "tool",
            "tool": "report",
            "args": {"i": i, "size": size, "before": f"${{s{i - 1}}}" if i else ""},
        }
        for i, size in enumerate(sizes)
    ]
    last = {"id": "last", "action": "tool", "tool": "publish", "args": {"text": "done"}}
    return {"goal": "be measured", "steps": [*steps, last | {"depends_on": [f"s{STEPS}"]}]}


def _list(path: Path) -> tuple[float, int]:
    """Seconds and the peak of memory, in bytes, of opening the file and listing its runs."""

    async def runs() -> list[RunEntry]:
        with open_store(path) as opened:
            return await list_runs(opened.store)

    begin = time.perf_counter()
    assert [run.status for run in asyncio.run(runs())] == [RunStatus.WAITING]
    took = time.perf_counter() - begin
    tracemalloc.start()
    asyncio.run(runs())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return took, peak
