"""The store: LangGraph's store behaviour, from anywhere, each batch all or nothing."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp

from checkpoints import OpenedStore, open_store
from checkpoints.database import Database


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as store:
        yield store


async def test_a_batch_of_which_one_part_fails_changes_nothing(opened: OpenedStore) -> None:
    good = PutOp(("a",), "good", {"v": 1})
    bad = PutOp(("a",), "bad", {"v": {1, 2}})
    with pytest.raises(TypeError):
        await opened.store.abatch([good, bad])
    with pytest.raises(TypeError):
        opened.store.batch([good, bad])
    assert opened.store.search(("a",)) == []


async def test_a_failing_batch_does_not_take_those_beside_it_with_it(opened: OpenedStore) -> None:
    await asyncio.gather(
        *(opened.store.aput(("a",), str(n), {"v": {n} if n % 2 else n}) for n in range(10)),
        return_exceptions=True,
    )
    assert {item.key for item in opened.store.search(("a",))} == {"0", "2", "4", "6", "8"}


async def test_a_job_that_fails_halfway_is_undone_and_those_beside_it_are_not(opened: OpenedStore) -> None:
    def half(database: Database) -> None:
        database.store.put(("a",), "half", {})
        raise KeyError("broken")

    good = [opened.store.aput(("a",), str(n), {}) for n in range(5)]
    bad = [opened._worker.acall(half, writes=True) for _ in range(5)]
    mixed = [job for pair in zip(good, bad, strict=True) for job in pair]
    outcomes = await asyncio.gather(*mixed, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), KeyError] * 5
    assert {item.key for item in opened.store.search(("a",))} == {"0", "1", "2", "3", "4"}


async def test_writes_that_wait_together_share_a_commit(opened: OpenedStore) -> None:
    commits = []
    opened._worker.call(
        lambda database: database.connection.set_trace_callback(
            lambda statement: commits.append(statement) if statement == "COMMIT" else None
        ),
        writes=False,
    )
    await asyncio.gather(*(opened.store.aput(("a",), str(n), {}) for n in range(200)))
    assert len(commits) < 50
    assert len(opened.store.search(("a",), limit=1000)) == 200


async def test_a_read_in_a_batch_sees_the_state_before_it(opened: OpenedStore) -> None:
    assert await opened.store.abatch([PutOp(("a",), "k", {"v": 1}), GetOp(("a",), "k")]) == [None, None]
    assert opened.store.get(("a",), "k") is not None


def test_two_event_loops_and_plain_calls_share_one_store(opened: OpenedStore) -> None:
    async def put(key: str) -> None:
        await opened.store.aput(("a",), key, {})

    asyncio.run(put("one"))
    asyncio.run(put("two"))
    opened.store.put(("a",), "three", {})
    opened.store.delete(("a",), "one")
    assert {item.key for item in opened.store.search(("a",))} == {"two", "three"}
    assert opened.store.list_namespaces() == [("a",)]


async def test_many_threads_with_loops_of_their_own_write_at_once(opened: OpenedStore) -> None:
    async def some(thread: int) -> None:
        await asyncio.gather(*(opened.store.aput(("a",), f"{thread}-{n}", {}) for n in range(25)))

    await asyncio.gather(*(asyncio.to_thread(asyncio.run, some(thread)) for thread in range(4)))
    assert len(opened.store.search(("a",), limit=1000)) == 100


async def test_a_cancelled_caller_leaves_at_once_and_the_store_goes_on(opened: OpenedStore) -> None:
    waiting = asyncio.create_task(opened.store.aput(("a",), "k", {}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await opened.store.aput(("a",), "next", {})
    assert opened.store.get(("a",), "next") is not None


def test_a_write_whose_loop_is_gone_is_dropped_and_the_store_goes_on(opened: OpenedStore) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hold(_database: Database) -> None:
        held.set()
        let_go.wait(10)

    async def leave() -> None:
        tasks = [asyncio.create_task(opened._worker.acall(hold, writes=False))]
        await asyncio.to_thread(held.wait, 10)
        tasks.append(asyncio.create_task(opened.store.aput(("a",), "left", {})))
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()

    asyncio.run(leave())
    let_go.set()
    opened.store.put(("a",), "next", {})
    assert [item.key for item in opened.store.search(("a",))] == ["next"]


@pytest.mark.parametrize("namespace", [(), ("",), ("a.b",)])
def test_a_namespace_that_could_be_mistaken_is_refused(
    opened: OpenedStore, namespace: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidNamespaceError):
        opened.store.put(namespace, "k", {})
    if namespace:
        with pytest.raises(InvalidNamespaceError):
            opened.store.batch([PutOp(namespace, "k", {})])


@pytest.mark.parametrize("key", ["", "x' OR '1'='1", "%", "a\nb", "k" * 10_000, "a\x00b"])
def test_any_key_names_exactly_its_own_item(opened: OpenedStore, key: str) -> None:
    opened.store.put(("a",), "other", {"v": "other"})
    opened.store.put(("a",), key, {"v": "mine"})
    item = opened.store.get(("a",), key)
    assert item is not None
    assert item.value == {"v": "mine"}
    opened.store.delete(("a",), key)
    assert [left.key for left in opened.store.search(("a",))] == ["other"]


def test_a_filter_key_with_sql_in_it_is_refused(opened: OpenedStore) -> None:
    opened.store.put(("a",), "k", {"v": 1})
    with pytest.raises(ValueError, match="Invalid filter key"):
        opened.store.search(("a",), filter={"x') OR '1'='1": 1})


def test_items_that_expire_are_refused_since_nothing_would_remove_them(opened: OpenedStore) -> None:
    with pytest.raises(NotImplementedError):
        opened.store.put(("a",), "k", {}, ttl=1.0)
