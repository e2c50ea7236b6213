"""A database that is locked, full or broken while it is open: clear errors, nothing half done."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig

from checkpoints import (
    Journal,
    OpenedStore,
    StoreBusyError,
    StoreUnavailableError,
    open_store,
)
from tests.checkpoints.support import checkpoint, step

THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the write lock as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


async def hold(path: Path, seconds: float) -> None:
    with locked(path):
        await asyncio.sleep(seconds)


def only_pages(opened: OpenedStore, pages: int) -> None:
    """Let the database grow no further than this, as on a full disk."""
    opened._worker.call(
        lambda database: database.connection.execute(f"PRAGMA max_page_count={pages}").fetchall(),
        writes=False,
    )


async def test_a_lock_held_for_eight_seconds_is_waited_out(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db") as opened:
        holding = asyncio.create_task(hold(opened.path, 8))
        await asyncio.sleep(0.1)
        await asyncio.gather(
            opened.checkpointer.aput(THREAD, checkpoint(a=1), {}, {}),
            Journal(opened.store, "run-1").commit(step()),
        )
        assert holding.done()


def test_a_locked_database_can_be_opened_and_read(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        opened.store.put(("a",), "k", {"v": 1})
    with locked(tmp_path / "runs.db"), open_store(tmp_path / "runs.db", busy_timeout=0.2) as opened:
        assert opened.store.get(("a",), "k") is not None
        assert list(opened.checkpointer.list(None)) == []


async def test_a_lock_held_for_ever_is_reported_in_time_and_nothing_is_lost(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db", busy_timeout=0.5) as opened:
        journal = Journal(opened.store, "run-1")
        with locked(opened.path):
            with pytest.raises(StoreBusyError, match="is locked by another process; try again"):
                await journal.commit(step())
            with pytest.raises(StoreBusyError):
                await opened.checkpointer.aput(THREAD, checkpoint(a=1), {}, {})
        await opened.checkpointer.aput(THREAD, checkpoint(a=2), {}, {})
        log = await journal.load()
        assert set(log.steps) == {"s1"}


async def test_many_writes_behind_a_lock_all_give_up_after_one_timeout(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db", busy_timeout=1.5) as opened:
        with locked(opened.path):
            begin = time.monotonic()
            puts = []
            for n in range(20):
                puts.append(asyncio.create_task(opened.store.aput(("a",), str(n), {})))
                await asyncio.sleep(0.01)
            outcomes = await asyncio.gather(*puts, return_exceptions=True)
            assert time.monotonic() - begin < 2.6
        assert {type(outcome) for outcome in outcomes} == {StoreBusyError}
        assert opened.store.search(("a",)) == []


async def test_a_write_that_came_later_outlives_one_that_gave_up(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db", busy_timeout=2) as opened:
        holding = asyncio.create_task(hold(opened.path, 3.75))
        puts = []
        for name in ("first", "second", "third"):  # the first waits alone, the others together behind it
            await asyncio.sleep(0.7)
            puts.append(asyncio.create_task(opened.store.aput(("a",), name, {})))
        outcomes = await asyncio.gather(*puts, holding, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes[:2]] == [StoreBusyError, StoreBusyError]
        assert [item.key for item in opened.store.search(("a",))] == ["third"]


def test_a_full_disk_is_named_undoes_the_whole_batch_and_can_be_recovered_from(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        only_pages(opened, 1)
        with pytest.raises(StoreUnavailableError, match="full; free some space"):
            opened.store.put(("a",), "large", {"v": "x" * 100_000})
        with pytest.raises(StoreUnavailableError, match="full; free some space"):
            opened.checkpointer.put(THREAD, checkpoint(a="x" * 100_000), {}, {})
        only_pages(opened, 1_000_000)
        opened.store.put(("a",), "small", {"v": 1})
        assert [item.key for item in opened.store.search(("a",))] == ["small"]
        assert opened.checkpointer.get_tuple(THREAD) is None


async def test_a_full_disk_fails_what_shares_the_commit_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    async with open_store(tmp_path / "runs.db") as opened:
        only_pages(opened, 1)
        outcomes = await asyncio.gather(
            opened.store.aput(("a",), "1", {"v": "x" * 100_000}),
            opened.store.aput(("a",), "2", {"v": "x" * 100_000}),
            return_exceptions=True,
        )
        assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
        only_pages(opened, 1_000_000)
        assert opened.store.search(("a",)) == []


def test_an_error_keeps_what_sqlite_said_as_its_cause(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        only_pages(opened, 1)
        with pytest.raises(StoreUnavailableError) as failure:
            opened.store.put(("a",), "large", {"v": "x" * 100_000})
        assert isinstance(failure.value.__cause__, sqlite3.OperationalError)
        assert "\n" not in str(failure.value)
