"""How much the file grows: every value once, whatever it is used for."""

import asyncio
import time
from pathlib import Path

from langgraph.types import Command

from checkpoints import Journal, list_runs, open_store
from tests.checkpoints.support import NOON, run, step
from tests.checkpoints.test_saver import asking_graph

KILOBYTE = "x" * 1_000


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*") if file.is_file())


async def test_a_step_with_one_kilobyte_of_output_takes_two_and_a_half(tmp_path: Path) -> None:
    run_id, path = "3f2c" * 8, tmp_path / "runs.db"
    sizes = []
    for count in (100, 1_000):
        async with open_store(path) as opened:
            journal = Journal(opened.store, run_id)
            for n in range(count):
                entry = step(
                    f"s{n}",
                    run_id=run_id,
                    plan_id="a" * 32,
                    attempts=1,
                    input={"order_id": "A1234"},
                    output={"text": KILOBYTE},
                    idempotency_key="0a" * 16,
                    started_at=NOON,
                    ended_at=NOON,
                )
                journal.note(entry.model_copy(update={"output": None}))
                await journal.commit(entry)
        sizes.append(size(path))
    assert (sizes[1] - sizes[0]) / 900 < 2_500


async def test_large_outputs_that_feed_the_next_step_are_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with open_store(path) as opened:
        journal = Journal(opened.store, "run-1")
        given = None
        for n in range(40):
            output = {"text": f"{n}" + "y" * 200_000}
            await journal.commit(step(f"s{n}", input=given, output=output))
            given = output
        await journal.commit(step("huge", output="z" * 30_000_000))
        await journal.put_run(run())
        begin = time.monotonic()
        assert len(await list_runs(opened.store)) == 1
        assert len((await Journal(opened.store, "run-1").load()).steps) == 41
        assert time.monotonic() - begin < 2
    assert size(path) < 1.2 * (40 * 200_000 + 30_000_000)


def test_asking_again_and_again_about_a_paused_run_does_not_grow_the_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    thread = {"configurable": {"thread_id": "t"}}
    sizes = []
    for resumed in range(3):
        with open_store(path) as opened:
            graph = asking_graph(opened)
            if not resumed:
                asyncio.run(graph.ainvoke({}, thread))
            for _ in range(10):
                asyncio.run(graph.ainvoke(None, thread))
        sizes.append(size(path))
    assert sizes[2] - sizes[0] < 40_000
    with open_store(path) as opened:
        assert asyncio.run(asking_graph(opened).ainvoke(Command(resume="yes"), thread))["answers"] == ["yes"]
