"""What a journaled step costs beside LangGraph's own write, in one run on one disk."""

import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from checkpoints import Journal, open_store
from tests.checkpoints.support import checkpoint, step

ROUNDS = 300


async def seconds(work: Callable[[], Awaitable[Any]]) -> float:
    begin = time.perf_counter()
    await work()
    return time.perf_counter() - begin


@pytest.mark.benchmark
async def test_a_committed_step_costs_about_one_put_writes_of_langgraphs_async_saver(tmp_path: Path) -> None:
    ours, theirs = [], []
    async with (
        open_store(tmp_path / "ours.db") as opened,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "theirs.db")) as saver,
    ):
        journal = Journal(opened.store, "run-1")
        config = await saver.aput(
            {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint(), {}, {}
        )
        output = {"text": "x" * 1_000}
        for n in range(ROUNDS):  # by turns, so that a slow moment of the machine hits both
            entry = step(f"s{n}", input={"order_id": "A1234"}, output=output)
            ours.append(await seconds(lambda entry=entry: journal.commit(entry)))  # type: ignore[misc]
            theirs.append(
                await seconds(lambda n=n: saver.aput_writes(config, [("result", output)], f"task-{n}"))  # type: ignore[misc]
            )
    mine, plain = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
    print(f"journal {mine:.2f} ms, put_writes {plain:.2f} ms")  # noqa: T201 - a benchmark says what it measured
    assert mine < 1.25 * plain
