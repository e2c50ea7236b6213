"""The journal: durable on return, many steps to a commit, nothing lost when a write fails."""

import asyncio
import gc
import logging
from datetime import timedelta
from typing import Any

import pytest
from langgraph.store.base import SearchOp
from langgraph.store.memory import InMemoryStore

from checkpoints import Journal, RunIdError, StoreFormatError, find_run, list_runs
from checkpoints.keys import steps_of, values_of
from graph.plan.statuses import RunStatus
from tests.checkpoints.support import NOON, FailingStore, run, step, stored_keys

STEPS = steps_of("run-1")


@pytest.fixture
def store() -> FailingStore:
    return FailingStore()


@pytest.fixture
def journal(store: FailingStore) -> Journal:
    return Journal(store, "run-1", inline_bytes=100, flush_after=0.01)


async def test_a_committed_entry_is_stored_when_commit_returns(store: FailingStore, journal: Journal) -> None:
    await journal.commit(step("s1"), step("s2", item=3))
    assert stored_keys(store, STEPS) == {"s1", "s2#3"}


async def test_everything_written_is_in_the_log(store: FailingStore, journal: Journal) -> None:
    await journal.put_run(run())
    await journal.put_plan(1, {"steps": []})
    await journal.put_plan(2, {"steps": ["x"]})
    journal.note(step("s2", item=0))
    await journal.commit(step("s1", output={"a": 1}))
    log = await Journal(store, "run-1").load()
    assert log.run == run()
    assert log.plans == {1: {"steps": []}, 2: {"steps": ["x"]}}
    assert log.steps == {"s1": step("s1", output={"a": 1}), "s2#0": step("s2", item=0)}


async def test_a_run_of_which_nothing_is_known_has_an_empty_log(journal: Journal) -> None:
    log = await journal.load()
    assert (log.run, log.steps, log.plans) == (None, {}, {})


async def test_a_noted_entry_goes_out_with_the_next_commit(store: FailingStore) -> None:
    journal = Journal(store, "run-1", flush_after=60)
    journal.note(step("s1"))
    assert store.writes == []
    await journal.commit(step("s2"))
    assert store.writes == [["s1", "s2"]]
    await journal.aclose()


async def test_a_noted_entry_goes_out_by_itself_after_a_while(store: FailingStore, journal: Journal) -> None:
    journal.note(step("s1"))
    await asyncio.sleep(0.1)
    assert store.writes == [["s1"]]


async def test_closing_writes_what_was_noted(store: FailingStore) -> None:
    journal = Journal(store, "run-1", flush_after=60)
    journal.note(step("s1"))
    await journal.aclose()
    assert store.writes == [["s1"]]
    await journal.aclose()
    assert store.writes == [["s1"]]


async def test_loading_shows_what_was_only_noted(store: FailingStore) -> None:
    journal = Journal(store, "run-1", flush_after=60)
    journal.note(step("s1"))
    assert set((await journal.load()).steps) == {"s1"}
    await journal.aclose()


async def test_what_comes_in_during_a_write_shares_the_next_one(
    store: FailingStore, journal: Journal
) -> None:
    await asyncio.gather(*(journal.commit(step(f"s{n}")) for n in range(100)))
    assert len(store.writes) <= 2
    assert len(stored_keys(store, STEPS)) == 100


async def test_a_later_entry_of_a_step_takes_the_place_of_a_waiting_one(
    store: FailingStore, journal: Journal
) -> None:
    journal.note(step("s1", attempts=1))
    await journal.commit(step("s1", attempts=2))
    assert store.writes == [["s1"]]
    assert (await journal.load()).steps["s1"].attempts == 2


async def test_a_failed_write_reaches_every_waiter_and_its_entries_go_out_next_time(
    store: FailingStore, journal: Journal
) -> None:
    store.failures = 1
    outcomes = await asyncio.gather(
        *(journal.commit(step(f"s{n}")) for n in range(5)), return_exceptions=True
    )
    assert [str(outcome) for outcome in outcomes] == ["no space left"] * 5
    await journal.commit(step("s9"))
    assert stored_keys(store, STEPS) == {"s0", "s1", "s2", "s3", "s4", "s9"}


async def test_a_failed_entry_does_not_come_back_over_a_later_one(
    store: FailingStore, journal: Journal
) -> None:
    store.failures = 1
    with pytest.raises(OSError, match="no space"):
        await journal.commit(step("s1", attempts=1))
    await journal.commit(step("s1", attempts=2))
    assert (await journal.load()).steps["s1"].attempts == 2


async def test_a_note_that_cannot_be_written_is_logged_and_tried_again(
    store: FailingStore, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    store.failures = 2
    with caplog.at_level(logging.WARNING):
        journal.note(step("s1"))
        await asyncio.sleep(0.1)
    assert store.failures == 1  # not hammered: the next commit, note or flush tries again
    store.failures = 0
    assert "entries of run 'run-1' could not be written yet: no space left" in caplog.text
    await journal.flush()
    assert stored_keys(store, STEPS) == {"s1"}


async def test_a_cancelled_waiter_takes_nothing_with_it(store: FailingStore, journal: Journal) -> None:
    one, two = (asyncio.create_task(journal.commit(step(name))) for name in ("s1", "s2"))
    await asyncio.sleep(0)
    one.cancel()
    await two
    assert stored_keys(store, STEPS) == {"s1", "s2"}
    with pytest.raises(asyncio.CancelledError):
        await one


async def test_a_failure_nobody_waits_for_leaves_no_warning(
    store: FailingStore, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    store.failures = 1
    waiting = asyncio.create_task(journal.commit(step("s1")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await journal.flush()
    assert stored_keys(store, STEPS) == {"s1"}
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_a_large_output_is_stored_once_and_found_again(store: FailingStore, journal: Journal) -> None:
    large = {"text": "x" * 500}
    one, two = await journal.commit(step("s1", output=large), step("s2", input=large, output="small"))
    assert (one.output, two.input, two.output) == (None, None, "small")
    assert one.output_ref is not None
    assert one.output_ref == two.input_ref
    assert one.output_ref.bytes == 511
    assert one.output_ref.preview.startswith('{"text":"xxx')
    assert len(stored_keys(store, values_of("run-1"))) == 1
    assert await journal.output(one) == large
    assert await journal.input(two) == large
    assert await journal.output(two) == "small"
    later = Journal(store, "run-1", inline_bytes=100)
    assert await later.output((await later.load()).steps["s1"]) == large


async def test_a_large_output_is_not_written_again_with_each_entry(
    store: FailingStore, journal: Journal
) -> None:
    large = "x" * 500
    await journal.commit(step("s1", output=large))
    await journal.commit(step("s2", output=large))
    later = Journal(store, "run-1", inline_bytes=100)
    await later.load()
    await later.commit(step("s3", output=large))
    assert [len(keys) for keys in store.writes] == [2, 1, 1]


async def test_a_large_output_whose_write_failed_is_written_with_the_next(
    store: FailingStore, journal: Journal
) -> None:
    store.failures = 1
    with pytest.raises(OSError, match="no space"):
        await journal.commit(step("s1", output="x" * 500))
    (kept,) = await journal.commit(step("s2", output="x" * 500))
    assert await journal.output(kept) == "x" * 500


async def test_a_noted_large_output_can_be_read_before_it_is_written(store: FailingStore) -> None:
    journal = Journal(store, "run-1", inline_bytes=100, flush_after=60)
    (kept,) = journal.note(step("s1", output="x" * 500))
    assert await journal.output(kept) == "x" * 500
    await journal.aclose()


async def test_an_output_that_is_gone_is_named(store: FailingStore, journal: Journal) -> None:
    (kept,) = await journal.commit(step("s1", output="x" * 500))
    assert kept.output_ref is not None
    await store.adelete(values_of("run-1"), kept.output_ref.digest)
    with pytest.raises(StoreFormatError, match="is missing; restore"):
        await journal.output(kept)


async def test_an_entry_of_another_run_is_refused(journal: Journal) -> None:
    with pytest.raises(ValueError, match="handed to the journal of run 'run-1'"):
        journal.note(step(run_id="run-2"))
    with pytest.raises(ValueError, match="handed to the journal of run 'run-1'"):
        await journal.put_run(run("run-2"))


def test_an_id_that_cannot_name_a_run_is_refused(store: FailingStore) -> None:
    with pytest.raises(RunIdError):
        Journal(store, "a\nb")


async def test_a_store_that_matches_namespaces_as_text_does_not_mix_runs() -> None:
    class TextMatchingStore(InMemoryStore):
        async def abatch(self, ops: Any) -> list[Any]:
            wanted = [
                op._replace(namespace_prefix=op.namespace_prefix[:2]) if isinstance(op, SearchOp) else op
                for op in list(ops)
            ]
            return await super().abatch(wanted)

    store = TextMatchingStore()
    await Journal(store, "run-11").commit(step("theirs", run_id="run-11"))
    await Journal(store, "run-1").commit(step("mine"))
    assert set((await Journal(store, "run-1").load()).steps) == {"mine"}


async def test_runs_are_listed_newest_first_and_cut(store: FailingStore) -> None:
    for n in (2, 0, 1):
        when = NOON + timedelta(hours=n)
        await Journal(store, f"run-{n}").put_run(run(f"run-{n}", created_at=when, updated_at=NOON))
    assert [each.run_id for each in await list_runs(store)] == ["run-2", "run-1", "run-0"]
    assert [each.run_id for each in await list_runs(store, limit=2)] == ["run-2", "run-1"]


@pytest.mark.parametrize("limit", [0, -1, True, "1; drop table store"])
async def test_a_limit_that_is_no_count_is_refused(store: FailingStore, limit: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await list_runs(store, limit=limit)


async def test_a_run_is_found_by_its_id(store: FailingStore) -> None:
    await Journal(store, "x' OR '1'='1").put_run(run("x' OR '1'='1", status=RunStatus.FAILED))
    found = await find_run(store, "x' OR '1'='1")
    assert found is not None
    assert found.status is RunStatus.FAILED
    assert await find_run(store, "x") is None
    with pytest.raises(RunIdError):
        await find_run(store, "")
