"""Opens the one file that holds checkpoints and journal."""

import asyncio
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from checkpoints.errors import StoreUnavailableError
from checkpoints.run_lock import RunLock
from checkpoints.saver import RunSaver
from checkpoints.store import RunStore
from checkpoints.worker import Worker


class OpenedStore:
    """A database of runs that is open, as `with` or `async with` keeps it."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        """Open the database; use `open_store`.

        Args:
            path: The resolved path of the file.
            busy_timeout: Seconds to wait for another process's write lock.
        """
        self.path = path
        self._locks = path.with_name(path.name + ".locks")
        self._worker = Worker(path, self._locks, busy_timeout)
        self.checkpointer = RunSaver(self._worker, self.run_lock)
        self.store = RunStore(self._worker)

    def run_lock(self, run_id: str) -> RunLock:
        """Return the lock of a run, not yet taken; it works for any text.

        Args:
            run_id: The run.
        """
        return RunLock(self._locks, run_id)

    def close(self) -> None:
        """Finish what was handed in and close the database; may be called again."""
        self._worker.close()

    def __enter__(self) -> Self:
        """Return the store, which is open already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    async def __aenter__(self) -> Self:
        """Return the store, which is open already."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the store; the event loop goes on meanwhile."""
        await asyncio.to_thread(self.close)


def open_store(path: str | os.PathLike[str], *, busy_timeout: float = 20.0) -> OpenedStore:
    """Open a database of runs, and make it when there is none.

    Args:
        path: A file in a folder that exists.
        busy_timeout: Seconds to wait while another process holds the write lock.

    Returns:
        The checkpointer, the store and the run locks of this file, for any thread and any event loop.

    Raises:
        StoreBusyError: When another process does not let go of the file in time.
        StoreFormatError: When a newer version wrote it.
        StoreUnavailableError: When it cannot be a database of runs; nothing was created or changed.
    """
    return OpenedStore(place_of(path), busy_timeout)


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return the resolved path of a database file; raise StoreUnavailableError when it cannot be one."""
    text = os.fspath(path)
    if not text or text == ":memory:" or "\x00" in text:
        raise StoreUnavailableError(
            f"{text!r} is not the path of a database file; pass a path, or LangGraph's InMemorySaver "
            "and InMemoryStore to keep nothing"
        )
    try:
        place = Path(text).resolve()
    except (OSError, RuntimeError) as error:  # links that lead in a circle
        raise StoreUnavailableError(
            f"{text!r} cannot be reached ({error}); pass another database path"
        ) from error
    if not place.name:
        raise StoreUnavailableError(f"{place} is a folder; pass the path of a file in it, such as runs.db")
    return place
