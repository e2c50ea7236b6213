"""The journal in SQLite files: many entries, many runs, another loop, a kill."""

import asyncio
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from checkpoints import Journal, list_runs, open_store
from checkpoints.keys import RUNS
from tests.checkpoints.support import NOON, child, run, step


async def test_thousands_of_entries_are_loaded_without_the_large_outputs(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db") as opened:
        journal = Journal(opened.store, "run-1")
        await journal.commit(*(step(f"s{n}") for n in range(9_500)))
        await journal.commit(step("large", output="x" * 50_000))
        log = await Journal(opened.store, "run-1").load()
        assert len(log.steps) == 9_501
        assert log.steps["large"].output is None


@pytest.mark.parametrize("other", ["run-11", "run-1.x", "RUN-1", "run=1", "run_1", "run-*"])
async def test_runs_with_like_ids_do_not_see_each_other(tmp_path: Path, other: str) -> None:
    async with open_store(tmp_path / "runs.db") as opened:
        await Journal(opened.store, other).commit(step("theirs", run_id=other))
        await Journal(opened.store, "run-1").commit(step("mine"))
        assert set((await Journal(opened.store, "run-1").load()).steps) == {"mine"}
        assert set((await Journal(opened.store, other).load()).steps) == {"theirs"}


async def test_more_runs_than_one_page_are_listed(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db") as opened:
        runs = [run(f"run-{n}", created_at=NOON + timedelta(seconds=n)) for n in range(1_500)]
        await opened.store.abatch(
            [PutOp(RUNS, each.run_id, each.model_dump(mode="json"), index=False) for each in runs]
        )
        assert [each.run_id for each in await list_runs(opened.store, limit=2)] == ["run-1499", "run-1498"]


def test_a_journal_can_go_on_in_another_event_loop(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        journal = Journal(opened.store, "run-1")
        asyncio.run(commit_and_close(journal, "s1"))
        asyncio.run(commit_and_close(journal, "s2"))
        assert set(asyncio.run(journal.load()).steps) == {"s1", "s2"}


async def commit_and_close(journal: Journal, step_id: str) -> None:
    await journal.commit(step(step_id))
    await journal.aclose()


def test_what_was_committed_outlives_a_kill(tmp_path: Path) -> None:
    code = """
        import asyncio
        from checkpoints import Journal, open_store
        from tests.checkpoints.support import step
        async def main():
            journal = Journal(open_store(sys.argv[1]).store, "run-1")
            await journal.commit(*(step(f"s{n}") for n in range(20)))
            print("ready", flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
    """
    with child(code, tmp_path / "runs.db") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with open_store(tmp_path / "runs.db") as opened:
        assert len(asyncio.run(Journal(opened.store, "run-1").load()).steps) == 20
