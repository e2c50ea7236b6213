"""The thread that owns the database connection, and the transactions it runs jobs in.

LangGraph's async SQLite classes belong to the loop they were opened on and hop to a thread for every
statement. Here a whole job hops once, from any loop or thread, and writes that wait together share a commit.
"""

import os
import sqlite3
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from checkpoints.answers import Answer, LoopAnswer
from checkpoints.database import Database
from checkpoints.errors import StoreBusyError, StoreUnavailableError, store_error

T = TypeVar("T")

_SHORTEST_WAIT = 0.05
"""Seconds that even a job that is overdue waits for the write lock."""


@dataclass(slots=True, eq=False)
class Job(Generic[T]):
    """Work on the database; `run` is called inside a transaction in the worker's thread."""

    run: Callable[[Database], T]
    writes: bool
    synced: bool
    deadline: float
    answer: Answer[T]


class Worker:
    """Runs jobs on one database, one transaction after the other, in a daemon thread of its own."""

    def __init__(self, path: Path, locks: Path, busy_timeout: float) -> None:
        """Start the thread and wait until the database is open.

        Args:
            path: The database file.
            locks: Folder for lock files.
            busy_timeout: Seconds a job waits for another process's write lock.

        Raises:
            StoreError: When the database cannot be opened, with the remedy.
        """
        self.path = path
        self._busy_timeout = busy_timeout
        self._process_id = os.getpid()
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._closing = Lock()
        self._closed = False
        opened: Future[None] = Future()
        self._thread = Thread(
            target=_serve,
            args=(self._jobs, path, locks, busy_timeout, opened),
            name="planrail-db",
            daemon=True,
        )
        self._thread.start()
        opened.result()
        weakref.finalize(self, self._jobs.put, None)  # a store that is never closed does not keep its thread

    def call(self, run: Callable[[Database], T], *, writes: bool) -> T:
        """Run a job and wait for it, from any thread but the worker's own.

        Args:
            run: Called with the database inside a transaction.
            writes: Whether it may change anything.

        Returns:
            What `run` returned, once it is durable.

        Raises:
            StoreError: When the database was busy, full, read-only or closed; nothing was changed then.
        """
        future: Future[T] = Future()
        self._submit(run, future, writes=writes)
        return future.result()

    async def acall(self, run: Callable[[Database], T], *, writes: bool, synced: bool = True) -> T:
        """Run a job and wait for it, from any event loop; see `call`.

        Without `synced` the commit does not wait for the disk: it outlives the process, not a power cut.

        A caller that is cancelled leaves at once. Its job is dropped if it has not begun and
        otherwise ends as a whole.
        """
        answer: LoopAnswer[T] = LoopAnswer()
        self._submit(run, answer, writes=writes, synced=synced)
        return await answer.future

    def close(self) -> None:
        """Finish the jobs handed in so far and close the database; further calls are refused."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        if os.getpid() == self._process_id:
            self._thread.join()

    def _submit(
        self, run: Callable[[Database], T], answer: Answer[T], *, writes: bool, synced: bool = True
    ) -> None:
        if os.getpid() != self._process_id:
            raise StoreUnavailableError(
                f"database {self.path} was opened before this process was forked; open it again here"
            )
        job = Job(run, writes, synced, time.monotonic() + self._busy_timeout, answer)
        with self._closing:
            if self._closed:
                raise StoreUnavailableError(f"database {self.path} is closed; open it again with open_store")
            self._jobs.put(job)


def _serve(
    jobs: SimpleQueue[Job[Any] | None], path: Path, locks: Path, busy_timeout: float, opened: Future[None]
) -> None:
    try:
        database = Database(path, locks, busy_timeout)
    except BaseException as error:  # noqa: BLE001 - whoever opens the store is told, whatever it was
        opened.set_exception(_typed(error, path))
        return
    opened.set_result(None)
    while batch := _waiting(jobs):
        for writes, group in groupby((job for job in batch if job is not None), key=lambda job: job.writes):
            started = [job for job in group if job.answer.set_running_or_notify_cancel()]
            if writes:
                _write(database, started)
            else:
                _read(database, started)
        if batch[-1] is None:
            break
    database.close()


def _waiting(jobs: SimpleQueue[Job[Any] | None]) -> list[Job[Any] | None]:
    batch = [jobs.get()]
    try:
        while batch[-1] is not None:
            batch.append(jobs.get_nowait())
    except Empty:
        pass
    return batch


def _read(database: Database, jobs: list[Job[Any]]) -> None:
    for job in jobs:
        try:
            _set_patience(database.connection, job.deadline)
            database.connection.execute("BEGIN")
            try:
                result = job.run(database)
            finally:
                _end(database.connection, "COMMIT")
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, and the thread must live on
            job.answer.set_exception(_typed(error, database.path))
        else:
            job.answer.set_result(result)


def _write(database: Database, jobs: list[Job[Any]]) -> None:
    database.sync_commits(any(job.synced for job in jobs))
    jobs = _begin(database, jobs)
    if not jobs:
        return
    try:
        outcomes = [_attempt(database, job) for job in jobs]
        database.connection.execute("COMMIT")
    except sqlite3.Error as error:
        _end(database.connection, "ROLLBACK")
        outcomes = [(None, error)] * len(jobs)
    for job, (result, failure) in zip(jobs, outcomes, strict=True):
        if failure is None:
            job.answer.set_result(result)
        else:
            job.answer.set_exception(_typed(failure, database.path))


def _begin(database: Database, jobs: list[Job[Any]]) -> list[Job[Any]]:
    """Take the write lock for as many jobs as can still wait for it; the others have failed by then."""
    while jobs:
        try:
            _set_patience(database.connection, min(job.deadline for job in jobs))
            database.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            busy = isinstance(_typed(error, database.path), StoreBusyError)
            soon = time.monotonic() + _SHORTEST_WAIT
            for job in jobs:
                if not busy or job.deadline <= soon:
                    job.answer.set_exception(_typed(error, database.path))
            jobs = [job for job in jobs if not job.answer.done()]
        else:
            break
    return jobs


def _set_patience(connection: sqlite3.Connection, deadline: float) -> None:
    patience = max(_SHORTEST_WAIT, deadline - time.monotonic())
    tenths = (
        int(patience * 10) + 1
    )  # rounded up, so that SQLite mostly meets a statement it has compiled before
    connection.execute(f"PRAGMA busy_timeout={tenths * 100}")


def _attempt(database: Database, job: Job[Any]) -> tuple[Any, BaseException | None]:
    """Run one job of a shared transaction so that its failure undoes nothing but itself."""
    database.connection.execute("SAVEPOINT job")
    try:
        result = job.run(database)
    except BaseException as error:
        if not database.connection.in_transaction and isinstance(error, sqlite3.Error):
            raise  # a full disk and the like: SQLite has undone the whole transaction
        database.connection.execute("ROLLBACK TO job")
        database.connection.execute("RELEASE job")
        return None, error
    database.connection.execute("RELEASE job")
    return result, None


def _end(connection: sqlite3.Connection, statement: str) -> None:
    if connection.in_transaction:
        connection.execute(statement)


def _typed(error: BaseException, path: Path) -> BaseException:
    typed = store_error(error, path)
    if typed is None:
        return error
    typed.__cause__ = error
    return typed
