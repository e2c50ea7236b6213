"""A tool's own code, watched from inside LangChain's machinery.

LangChain hides some of what a call did: with `handle_tool_error` a failure comes back as ordinary text,
and with a tool call id every result comes back as text. A guarded tool is a copy whose `_run` and `_arun`
also leave what really happened on the `Probe` of the current call.
"""

import asyncio
import contextlib
import functools
import inspect
import threading
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any, TypeVar, get_type_hints

from langchain_core.tools import BaseTool

from tools.drained import drained, drained_async

_Tool = TypeVar("_Tool", bound=BaseTool)
_T = TypeVar("_T")
_busy = threading.local()


class ToolExit(Exception):  # noqa: N818 - it carries a request to exit, which is no error of its own
    """Stands for an exception such as SystemExit that would stop the event loop; the cause holds it."""


class Probe:
    """What one attempt of a call did, written by the guarded tool while it runs.

    Times are of `time.monotonic`, in seconds.
    """

    def __init__(self) -> None:
        """Start the attempt's clock."""
        self.started = time.monotonic()
        self.entered = False
        self.returned: object = None
        self.came_back = False
        self.raised: BaseException | None = None
        self.task: asyncio.Task[Any] | None = None
        self.abandoned = False
        self._own_busy = 0.0
        self._loop_busy = _busy_seconds()

    def charge(self, seconds: float) -> None:
        """Book time in which this tool's code kept the event loop from doing anything else."""
        self._own_busy += seconds
        _busy.seconds = _busy_seconds() + seconds

    def elapsed_on_loop(self) -> float:
        """Seconds since the start, without those in which other tools blocked this thread's event loop.

        A tool that waited for nothing but its turn must not be called late.
        """
        others = _busy_seconds() - self._loop_busy - self._own_busy
        return time.monotonic() - self.started - max(others, 0.0)


current_probe: ContextVar[Probe | None] = ContextVar("planrail_probe", default=None)


def guarded(tool: _Tool) -> _Tool:
    """Return a copy of the tool that reports to `current_probe`; the original is left as it is."""
    copied = tool.model_copy()
    copied.__class__ = _guarded_class(type(tool))
    return copied


def is_async(tool: BaseTool) -> bool:
    """Tell whether the tool has async code of its own, as opposed to sync code LangChain would wrap."""
    if hasattr(tool, "coroutine") and hasattr(tool, "func"):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun  # noqa: SLF001 - the hook that tool classes override


@functools.cache
def _guarded_class(original: type[_Tool]) -> type[_Tool]:
    members: dict[str, Any] = {"__module__": original.__module__, "_run": _guarded_run(original._run)}  # noqa: SLF001
    if original._arun is not BaseTool._arun:  # noqa: SLF001
        members["_arun"] = _guarded_arun(original._arun)  # noqa: SLF001
    make: Callable[..., type[_Tool]] = type(original)
    return make(original.__name__, (original,), members)


def _guarded_run(original: Callable[..., Any]) -> Callable[..., Any]:
    def _run(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        probe = current_probe.get()
        if probe is None:
            return original(self, *args, **kwargs)
        probe.entered = True
        try:
            probe.returned = drained(original(self, *args, **kwargs), lambda: not probe.abandoned)
            probe.came_back = True
        except BaseException as error:
            probe.raised = error
            raise
        return probe.returned

    return _in_place_of(original, _run)


def _guarded_arun(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def _arun(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        probe = current_probe.get()
        if probe is None:
            return await original(self, *args, **kwargs)
        probe.entered = True
        probe.task = asyncio.current_task()
        try:
            probe.returned = await _metered(_answer(original(self, *args, **kwargs)), probe)
            probe.came_back = True
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            probe.raised = error
            if isinstance(error, Exception):
                raise
            raise ToolExit from error
        return probe.returned

    return _in_place_of(original, _arun)


def _in_place_of(original: Callable[..., Any], guard: Callable[..., _T]) -> Callable[..., _T]:
    """Make a guard look like what it guards, with its annotations evaluated.

    LangChain reads both at each call, and would compile every annotation that is text each time.
    """
    wrapped = functools.update_wrapper(guard, original)
    with contextlib.suppress(NameError, TypeError, ValueError):
        hints = get_type_hints(original, include_extras=True)
        wrapped.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        wrapped.__annotations__ = hints
    return wrapped


async def _answer(given: Awaitable[Any]) -> Any:
    return await drained_async(given if inspect.isasyncgen(given) else await given)


@types.coroutine
def _metered(coroutine: Coroutine[Any, Any, Any], probe: Probe) -> Generator[Any, Any, Any]:
    """Run a coroutine as `await` would, booking how long each of its steps holds the event loop."""
    step: Callable[[], Any] = functools.partial(coroutine.send, None)
    while True:
        began = time.monotonic()
        try:
            waiting_for = step()
        except StopIteration as finished:
            return finished.value
        finally:
            probe.charge(time.monotonic() - began)
        try:
            step = functools.partial(coroutine.send, (yield waiting_for))
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as thrown:  # noqa: BLE001 - thrown in from outside, and handed on as it came
            step = functools.partial(coroutine.throw, thrown)


def _busy_seconds() -> float:
    return float(getattr(_busy, "seconds", 0.0))
