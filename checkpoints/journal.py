"""The journal of one run: every step written down before and after it happens, many steps to a commit."""

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, PutOp, SearchItem, SearchOp

from checkpoints import keys
from checkpoints.entries import ENTRY_FORMAT, OutputRef, RunEntry, StepEntry, to_stored
from checkpoints.errors import StoreFormatError
from checkpoints.packing import pack, record, set_aside, unpack
from checkpoints.runs import FIRST_PAGE, PAGE_GROWTH, exactly
from checkpoints.store import RunStore
from graph.plan.json_values import JSON

_log = logging.getLogger(__name__)

_BATCH = 5_000
"""Entries in one statement, below SQLite's limit of 32,766 parameters."""

_Address = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class RunLog:
    """All that is written down about a run; large inputs and outputs are left where they are.

    `steps` is keyed by step id, or `ID#ITEM` for an item of a map step; `plans` by revision.
    """

    run: RunEntry | None
    steps: dict[str, StepEntry]
    plans: dict[int, JSON]


class Journal:
    """Writes and reads the entries of one run, on any LangGraph store. Belongs to one event loop at a time.

    Whatever many tasks hand in while a write is under way goes out together in the next one. When a write
    fails, every task that waits for it gets the error and the entries stay for the next try.
    """

    def __init__(
        self, store: BaseStore, run_id: str, *, inline_bytes: int = 32_768, flush_after: float = 0.05
    ) -> None:
        """Name the run; nothing is read or written yet.

        Args:
            store: Where entries are kept.
            run_id: The run.
            inline_bytes: Inputs and outputs whose JSON text is larger are stored once, by reference.
            flush_after: Seconds after which noted entries are written without a commit.

        Raises:
            RunIdError: When the id cannot name a run.
        """
        self.run_id = keys.check_run_id(run_id)
        self._store = store
        self._inline_bytes = inline_bytes
        self._flush_after = flush_after
        self._steps = keys.steps_of(run_id)
        self._plans = keys.plans_of(run_id)
        self._values = keys.values_of(run_id)
        self._stored_values: set[str] = set()
        self._buffer: dict[_Address, dict[str, Any] | StepEntry] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._synced = False
        self._writing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def store(self) -> BaseStore:
        """The store that holds it, for what else belongs beside the runs."""
        return self._store

    async def load(self) -> RunLog:
        """Read the run as it is now, however many entries it has.

        Raises:
            StoreFormatError: When a newer version wrote an entry, or one is damaged.
        """
        await self.flush()
        run, steps, plans = await _read(self._store, self.run_id, self._steps, self._plans)
        log = RunLog(
            None if run is None else record(RunEntry, run.value, f"run {self.run_id!r}"),
            {item.key: record(StepEntry, item.value, f"step {item.key!r}") for item in steps},
            {int(item.key): unpack(item.value, f"plan revision {item.key}")["plan"] for item in plans},
        )
        refs = [ref for entry in log.steps.values() for ref in (entry.input_ref, entry.output_ref)]
        self._stored_values.update(ref.digest for ref in refs if ref is not None)
        return log

    def note(self, *entries: StepEntry) -> tuple[StepEntry, ...]:
        """Hand in entries that need not be durable at once; they go out with the next commit or soon.

        A later entry of the same step takes the place of one that is still waiting.

        Returns:
            The entries as they are stored: large inputs and outputs by reference.
        """
        kept = tuple(self._put(entry) for entry in entries)
        if self._timer is None and self._buffer:
            self._timer = asyncio.get_running_loop().call_later(self._flush_after, self._time_is_up)
        return kept

    async def commit(self, *entries: StepEntry, synced: bool = True) -> tuple[StepEntry, ...]:
        """Write entries, and all noted ones, and return when they are durable.

        Args:
            entries: What to write.
            synced: Whether they must outlive a power cut. Without it they outlive the process however it
                ends, and the next synced commit makes them as durable as itself.

        Returns:
            The entries as they are stored: large inputs and outputs by reference.

        Raises:
            StoreError: When they could not be written; they stay for the next try.
        """
        kept = tuple(self._put(entry) for entry in entries)
        await self._durable(synced=synced)
        return kept

    async def put_run(self, entry: RunEntry, *, synced: bool = True) -> None:
        """Write the run's entry, with all noted ones, and return when it is durable; see `commit`."""
        self._check_owner(entry.run_id)
        self._buffer[keys.RUNS, self.run_id] = pack(to_stored(entry))
        await self._durable(synced=synced)

    async def put_plan(self, revision: int, plan_json: JSON, *, synced: bool = True) -> None:
        """Write a revision of the plan, with all noted entries, and return when durable; see `commit`."""
        self._buffer[self._plans, str(revision)] = pack({"format": ENTRY_FORMAT, "plan": plan_json})
        await self._durable(synced=synced)

    async def output(self, entry: StepEntry) -> JSON:
        """Return the step's output, inline or from where it was set aside.

        Raises:
            StoreFormatError: When it is no longer there.
        """
        return entry.output if entry.output_ref is None else await self._value(entry.output_ref)

    async def input(self, entry: StepEntry) -> JSON:
        """Return the step's input, inline or from where it was set aside.

        Raises:
            StoreFormatError: When it is no longer there.
        """
        return entry.input if entry.input_ref is None else await self._value(entry.input_ref)

    async def flush(self) -> None:
        """Return when all that was handed in so far is durable.

        Raises:
            StoreError: When it could not be written; it stays for the next try.
        """
        if self._buffer or self._busy():
            await self._durable()

    async def aclose(self) -> None:
        """Write what is left. Call it before the event loop ends; the journal can be used again later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self.flush()

    def _check_owner(self, run_id: str) -> None:
        if run_id != self.run_id:
            raise ValueError(f"an entry of run {run_id!r} was handed to the journal of run {self.run_id!r}")

    def _put(self, entry: StepEntry) -> StepEntry:
        self._check_owner(entry.run_id)
        kept = entry
        for name in ("input", "output"):
            aside = set_aside(getattr(entry, name), self._inline_bytes)
            if aside is not None:
                ref, text = aside
                kept = kept.model_copy(update={name: None, f"{name}_ref": ref})
                if ref.digest not in self._stored_values:
                    self._buffer[self._values, ref.digest] = {"format": ENTRY_FORMAT, "value": text}
        self._buffer[self._steps, kept.key] = kept  # packed when written: most intents never are
        return kept

    async def _value(self, ref: OutputRef) -> JSON:
        if ref.digest not in self._stored_values:
            await self.flush()
        item = await self._store.aget(self._values, ref.digest)
        where = f"value {ref.digest} of run {self.run_id!r}"
        if item is None:
            raise StoreFormatError(f"{where} is missing; restore the database from a copy")
        value: JSON = json.loads(unpack(item.value, where)["value"])
        return value

    def _busy(self) -> bool:
        return self._writing is not None and not self._writing.done()

    def _time_is_up(self) -> None:
        self._timer = None
        self._start_writing()

    def _start_writing(self) -> None:
        if not self._busy():
            self._writing = asyncio.get_running_loop().create_task(self._write_all())

    async def _durable(self, *, synced: bool = True) -> None:
        self._synced = self._synced or synced
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._start_writing()
        await waiter  # a cancelled one leaves; the write goes on

    async def _write_all(self) -> None:
        while self._buffer or self._waiters:
            waiters, self._waiters = self._waiters, []
            batch, self._buffer = self._buffer, {}
            synced, self._synced = self._synced, False
            try:
                await self._write(batch, synced=synced)
            except BaseException as error:
                self._buffer = batch | self._buffer
                self._synced = self._synced or synced
                told = _fail(waiters, error)
                if not isinstance(error, Exception):
                    raise
                if not told:
                    _log.warning("entries of run %r could not be written yet: %s", self.run_id, error)
                if not self._waiters:
                    return
            else:
                for waiter in _still_there(waiters):
                    waiter.set_result(None)

    async def _write(self, batch: dict[_Address, dict[str, Any] | StepEntry], *, synced: bool) -> None:
        store = self._store
        write = store.abatch_unsynced if isinstance(store, RunStore) and not synced else store.abatch
        ops = [
            PutOp(namespace, key, pack(to_stored(value)) if isinstance(value, StepEntry) else value, False)
            for (namespace, key), value in batch.items()
        ]
        for start in range(0, len(ops), _BATCH):
            await write(ops[start : start + _BATCH])
        self._stored_values.update(key for namespace, key in batch if namespace == self._values)


def _fail(waiters: list[asyncio.Future[None]], error: BaseException) -> bool:
    """Tell all who still wait, and return whether there was anyone."""
    there = _still_there(waiters)
    for waiter in there:
        if isinstance(error, Exception):
            waiter.set_exception(error)
        else:
            waiter.cancel()
    return bool(there)


def _still_there(waiters: list[asyncio.Future[None]]) -> list[asyncio.Future[None]]:
    return [waiter for waiter in waiters if not waiter.done()]


async def _read(
    store: BaseStore, run_id: str, steps: tuple[str, ...], plans: tuple[str, ...]
) -> tuple[Item | None, list[SearchItem], list[SearchItem]]:
    """Read a run in one consistent batch, with a larger limit as long as there may be more."""
    limit = FIRST_PAGE
    while True:
        found: list[Any] = await store.abatch(
            [GetOp(keys.RUNS, run_id), SearchOp(steps, limit=limit), SearchOp(plans, limit=limit)]
        )
        if len(found[1]) < limit and len(found[2]) < limit:
            return found[0], exactly(found[1], steps), exactly(found[2], plans)
        limit *= PAGE_GROWTH
