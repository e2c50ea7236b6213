"""The event loop on which all MCP sessions live, whichever loop or thread a call comes from.

A session belongs to the loop it was opened on, and a graph may be used from many.
"""

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_CLOSING_SECONDS = 8.0
"""Seconds a process waits at its end; a server that ignores all signals but the last needs five."""

_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_closers: set[Callable[[], Awaitable[None]]] = set()


def submit(work: Coroutine[Any, Any, T]) -> "Future[T]":
    """Run a coroutine on the home loop; cancelling the future cancels it."""
    return asyncio.run_coroutine_threadsafe(work, _home())


async def at_home(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that runs on the home loop, for a caller on any loop."""
    return await asyncio.wrap_future(submit(work))


def at_home_sync(work: Coroutine[Any, Any, T]) -> T:
    """The same for a caller without a loop; it must not be on the home loop itself."""
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def close_at_exit(closer: Callable[[], Awaitable[None]]) -> None:
    """Have something on the home loop closed when the process ends."""
    _closers.add(closer)


def closed(closer: Callable[[], Awaitable[None]]) -> None:
    """Take back `close_at_exit`."""
    _closers.discard(closer)


def _home() -> asyncio.AbstractEventLoop:
    if _loops:  # without the lock, for the garbage collector may call from inside of it
        return _loops[0]
    with _lock:
        if not _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="planrail-mcp", daemon=True).start()
            _loops.append(loop)
        return _loops[0]


async def _close_all() -> None:
    await asyncio.gather(*(closer() for closer in list(_closers)), return_exceptions=True)


def _at_exit() -> None:
    if _loops and _closers:
        with contextlib.suppress(TimeoutError, RuntimeError):
            submit(_close_all()).result(timeout=_CLOSING_SECONDS)


def _forget() -> None:
    """In a forked child: the loop's thread has not come along, and the sessions are the parent's."""
    global _lock  # noqa: PLW0603 - it may have been held by a thread that is not there any more
    _lock = threading.Lock()
    _loops.clear()
    _closers.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
