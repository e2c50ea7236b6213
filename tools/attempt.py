"""One call of a user's code within its time, whatever it does with its thread or the event loop."""

import asyncio
import contextlib
import contextvars
import threading
import time
from asyncio import _unregister_task
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tools.errors import SoftToolError
from tools.guard import Probe, ToolExit, current_probe

_CANCEL_GRACE = 0.05
"""Seconds a cancelled tool gets to clean up before nobody waits for it any more."""

_abandoned: set[asyncio.Task[Any]] = set()


@dataclass(frozen=True, slots=True)
class Returned:
    """The tool returned `value`, as LangChain hands it on."""

    value: object


@dataclass(frozen=True, slots=True)
class Raised:
    """The tool, or LangChain on its way to it, raised `error`."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The tool did not answer in time; whatever it still does is ignored."""


Attempt: TypeAlias = Returned | Raised | TimedOut


@dataclass(frozen=True, slots=True)
class Call:
    """Something of a user's to be called once.

    Attributes:
        name: What it is called in the name of its thread.
        function: Takes no arguments; returns the result, or when `is_async` an awaitable of it.
        is_async: Whether it runs on the event loop rather than in a thread.
        timeout: Seconds it may take.
    """

    name: str
    function: Callable[[], Any]
    is_async: bool
    timeout: float


async def attempt(call: Call, probe: Probe) -> Attempt:
    """Make the call once.

    Sync code runs in a daemon thread of its own: when it hangs it is left behind, holds no place in a
    pool, and does not keep the process alive. Async code that ignores its cancellation is left behind as
    well.

    Args:
        call: What to call and for how long.
        probe: Its clock; also receives what a guarded tool does.

    Raises:
        asyncio.CancelledError: The caller was cancelled; so is the call, where that is possible.
    """
    context = contextvars.copy_context()
    context.run(current_probe.set, probe)
    make = _on_loop if call.is_async else _in_thread
    finished = await make(call, probe, context)
    if finished is None or finished[1] > call.timeout:
        return TimedOut()
    return finished[0]


async def _on_loop(
    call: Call, probe: Probe, context: contextvars.Context
) -> tuple[Returned | Raised, float] | None:
    async def run() -> tuple[Returned | Raised, float]:
        result: Returned | Raised
        try:
            result = Returned(await call.function())
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is its result
            result = Raised(_own_error(error))
        return result, probe.elapsed_on_loop()

    task = asyncio.get_running_loop().create_task(run(), context=context)
    try:
        while not task.done() and (left := call.timeout - probe.elapsed_on_loop()) > 0:
            await asyncio.wait({task}, timeout=left)
    finally:
        if not task.done():
            probe.abandoned = True
            await _abandon(task, probe)
    return None if probe.abandoned else task.result()


async def _in_thread(
    call: Call, probe: Probe, context: contextvars.Context
) -> tuple[Returned | Raised, float] | None:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[Returned | Raised, float]] = loop.create_future()

    def deliver(result: Returned | Raised, elapsed: float) -> None:
        if not answer.done():
            answer.set_result((result, elapsed))

    def run() -> None:
        result: Returned | Raised
        try:
            result = Returned(context.run(call.function))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises is its result
            result = Raised(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, result, time.monotonic() - probe.started)

    try:
        threading.Thread(target=run, name=call.name, daemon=True).start()
    except RuntimeError as error:
        return Raised(SoftToolError(f"{call.name} was not called: {error}")), 0.0
    try:
        await asyncio.wait({answer}, timeout=call.timeout)
    finally:
        probe.abandoned = not answer.done()
    if answer.done():
        return answer.result()
    answer.cancel()
    return None


def _own_error(error: BaseException) -> BaseException:
    return error.__cause__ if isinstance(error, ToolExit) and error.__cause__ else error


async def _abandon(task: asyncio.Task[Any], probe: Probe) -> None:
    """Cancel a task and, if it goes on all the same, take it out of asyncio's books.

    `asyncio.run` waits at its end for every task in them, for a stubborn one forever.
    """
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=_CANCEL_GRACE)
    finally:
        _forget(task, probe.task)


def _forget(*tasks: asyncio.Task[Any] | None) -> None:
    for stubborn in tasks:
        if stubborn is not None and not stubborn.done():
            stubborn._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - as asyncio.gather
            _unregister_task(stubborn)
