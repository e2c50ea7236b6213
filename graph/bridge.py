"""The one sync edge: coroutines and async iterators for callers that are not async.

One loop in one background thread serves all sync calls of the process, because clients such as
OpenAI's keep connections that belong to the loop they were opened on.
"""

import asyncio
import contextvars
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_END = object()


def run_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of `work()`, run in the caller's context variables; Ctrl-C cancels it first."""
    return _Job(work).wait()


def iterate_sync(source: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """The items of `source()` as they come; closing the iterator cancels the source."""
    items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    async def feed() -> None:
        try:
            async for item in source():
                items.put(item)
        finally:
            items.put(_END)

    job = _Job(feed)
    try:
        while (item := items.get()) is not _END:
            yield item
        job.wait()
    finally:
        job.cancel()


class _Job(Generic[T]):
    """A coroutine on the background loop, and the future its caller waits for."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._loop = _loop_for_caller()
        self._future: Future[T] = Future()
        self._task: asyncio.Task[T] | None = None
        self._loop.call_soon_threadsafe(self._begin, work, contextvars.copy_context())

    def wait(self) -> T:
        try:
            return self._future.result()
        except BaseException:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Cancel the work and wait until it has let go, so that locks and journals are closed."""
        if not self._future.done():
            self._loop.call_soon_threadsafe(self._cancel_task)
            self._future.exception()

    def _begin(self, work: Callable[[], Coroutine[Any, Any, T]], context: contextvars.Context) -> None:
        self._task = self._loop.create_task(work(), context=context)
        self._task.add_done_callback(self._finish)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _finish(self, task: "asyncio.Task[T]") -> None:
        error = asyncio.CancelledError("the run was cancelled") if task.cancelled() else task.exception()
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(task.result())


_lock = threading.Lock()
_shared: list[asyncio.AbstractEventLoop] = []


def _loop_for_caller() -> asyncio.AbstractEventLoop:
    """The shared loop, or a new one for a caller that itself runs on it and would wait for itself."""
    with _lock:
        if not _shared:
            _shared.append(_new_loop())
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return _shared[0]
    return _new_loop() if running is _shared[0] else _shared[0]


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=_serve, args=(loop,), name="planrail-sync", daemon=True).start()
    return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for good: a task that asks to exit ends for its own caller, not for all the others."""
    while not loop.is_closed():
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue


def _forget_loop() -> None:
    """In a forked child: the thread that served the loop has not come along."""
    global _lock  # noqa: PLW0603 - it may have been held by a thread that is not there any more
    _lock = threading.Lock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loop)
