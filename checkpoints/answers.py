"""Where the end of a database job goes: to a thread that waits, or to a task of an event loop."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Answer(Protocol[T_contra]):
    """What the worker's thread tells how a job ended; `concurrent.futures.Future` is one."""

    def set_running_or_notify_cancel(self) -> bool:
        """Begin; False when nobody waits for it any more."""

    def set_result(self, result: T_contra, /) -> None:
        """Hand over what the job returned."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Hand over what the job raised."""

    def done(self) -> bool:
        """Whether it was handed over."""


class LoopAnswer(Generic[T]):
    """The answer for one task: what `asyncio.wrap_future` makes of a `Future`, without its locks."""

    def __init__(self) -> None:
        """Belong to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._done = False
        self.future: asyncio.Future[T] = self._loop.create_future()

    def set_running_or_notify_cancel(self) -> bool:
        """Begin; False when the task has left."""
        return not self.future.cancelled()

    def set_result(self, result: T, /) -> None:
        """Wake the task with a result."""
        self._tell(self.future.set_result, result)

    def set_exception(self, exception: BaseException, /) -> None:
        """Wake the task with an error."""
        self._tell(self.future.set_exception, exception)

    def done(self) -> bool:
        """Whether it was handed over."""
        return self._done

    def _tell(self, tell: Callable[[Any], None], end: Any) -> None:
        self._done = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell_waiting, tell, end)

    def _tell_waiting(self, tell: Callable[[Any], None], end: Any) -> None:
        if not self.future.done():
            tell(end)
