"""The lock that keeps two processes, or two tasks of one, from working on the same run."""

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from checkpoints.errors import RunBusyError, StoreUnavailableError

_HELD: set["RunLock"] = set()
"""Locks that are taken: one that nobody refers to any more is still taken, not freed with its object."""


class RunLock:
    """An exclusive lock on one run, taken by `with` or `acquire`.

    The operating system holds it, not a lease: it is free at once when its process dies, and a forked
    child does not inherit it.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        """Name the lock; nothing is taken yet.

        Args:
            folder: Where lock files are kept; made when needed.
            run_id: Any text; its digest names the file.
        """
        self._folder = folder
        self._run_id = run_id
        digest = hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()
        self._lock = FileLock(folder / f"{digest[:32]}.lock", timeout=0, thread_local=False)

    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises:
            RunBusyError: When it is taken, also by this process.
            StoreUnavailableError: When lock files cannot be made.
        """
        if self._lock.is_locked:
            raise RunBusyError(self._run_id)
        try:
            self._folder.mkdir(exist_ok=True)
            self._lock.acquire()
            _HELD.add(self)
        except Timeout:
            raise RunBusyError(self._run_id) from None
        except OSError as error:
            raise StoreUnavailableError(
                f"the folder {self._folder} cannot hold lock files ({error.strerror}); make it writable"
            ) from error

    def release(self) -> None:
        """Give the lock back; does nothing when it is not held."""
        self._lock.release()
        _HELD.discard(self)

    def __enter__(self) -> Self:
        """Take the lock; see `acquire`."""
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lock back."""
        self.release()
