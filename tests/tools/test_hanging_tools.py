"""Tools that hang, block the loop or ignore being cancelled."""

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from pathlib import Path

import pytest

from tests.tools.calling import called, failed
from tools import (
    CallFailed,
    CallSucceeded,
    ToolPolicy,
)


async def test_an_async_tool_that_hangs_times_out_on_time() -> None:
    cancelled = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    began = time.monotonic()
    failure = await failed(hangs, timeout=0.2)
    assert (failure.kind, failure.code) == ("soft", "timeout")
    assert time.monotonic() - began < 0.6
    assert cancelled.is_set()


async def test_a_sync_tool_that_hangs_times_out_on_time() -> None:
    let_go = threading.Event()

    def hangs() -> None:
        let_go.wait(60)

    began = time.monotonic()
    failure = await failed(hangs, timeout=0.2)
    let_go.set()
    assert (failure.kind, failure.code) == ("soft", "timeout")
    assert time.monotonic() - began < 0.6


async def test_an_async_tool_that_blocks_the_loop_is_timed_out_when_control_returns() -> None:
    async def blocks() -> str:
        time.sleep(0.4)  # noqa: ASYNC251 - the fault under test
        return "late"

    assert (await failed(blocks, timeout=0.2)).code == "timeout"


async def test_a_tool_whose_turn_came_late_because_another_blocked_the_loop_is_not_late() -> None:
    async def blocks() -> str:
        time.sleep(0.5)  # noqa: ASYNC251 - the fault under test
        return "late"

    async def quick() -> str:
        await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)
        return "in time"

    slow, fine = await asyncio.gather(called(blocks, timeout=0.3), called(quick, timeout=0.3))
    assert isinstance(slow, CallFailed)
    assert fine == CallSucceeded("in time")


async def test_a_sync_tool_that_ended_in_time_while_the_loop_was_blocked_is_not_late() -> None:
    async def blocks() -> None:
        time.sleep(0.5)  # noqa: ASYNC251 - the fault under test

    def quick() -> str:
        time.sleep(0.05)
        return "in time"

    fine, _ = await asyncio.gather(called(quick, timeout=0.3), called(blocks, timeout=5))
    assert fine == CallSucceeded("in time")


async def test_a_tool_that_swallows_its_cancellation_times_out_all_the_same() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
        return "late"

    failure = await failed(stubborn, timeout=0.1)
    assert failure.code == "timeout"


async def test_the_late_result_of_an_attempt_does_not_reach_the_next() -> None:
    calls: list[int] = []

    def slow_once() -> int:
        calls.append(len(calls))
        mine = calls[-1]
        if mine == 0:
            time.sleep(0.3)
        return mine

    assert (await failed(slow_once, timeout=0.1)).code == "timeout"
    second = await called(slow_once, timeout=2)
    await asyncio.sleep(0.4)
    assert second == CallSucceeded(1)


@pytest.mark.parametrize(
    ("repeatable", "kind"), [(ToolPolicy(idempotent=True), "soft"), (ToolPolicy(), "unknown")]
)
async def test_a_timeout_of_a_write_is_unknown_unless_it_is_idempotent(
    repeatable: ToolPolicy, kind: str
) -> None:
    async def hangs() -> None:
        await asyncio.sleep(3600)

    assert (await failed(hangs, timeout=0.05, policy=repeatable)).kind == kind


async def test_the_policys_timeout_holds_when_the_step_gives_none() -> None:
    async def hangs() -> None:
        await asyncio.sleep(3600)

    failure = await failed(hangs, policy=ToolPolicy(effect="read", timeout=0.05))
    assert failure.message == "hangs gave no answer within 0.05 s"


async def test_hung_threads_do_not_use_up_a_pool() -> None:
    let_go = threading.Event()

    def hangs() -> None:
        let_go.wait(60)

    def quick() -> str:
        return "done"

    hung = await asyncio.gather(*(called(hangs, timeout=0.1) for _ in range(60)))
    fine = await called(quick, timeout=2)
    let_go.set()
    assert all(isinstance(outcome, CallFailed) for outcome in hung)
    assert fine == CallSucceeded("done")


async def test_a_thread_that_cannot_be_started_is_a_soft_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def never() -> None:
        raise AssertionError("called")

    monkeypatch.setattr(threading.Thread, "start", fails)
    failure = await failed(never, policy=ToolPolicy())
    assert failure == CallFailed(
        "soft", "soft_tool_error", "tool never was not called: can't start new thread"
    )


EXIT_SCRIPT = """
import asyncio, sys, time
from tools import ToolRegistry, call_tool

def sleeps():
    time.sleep(3600)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def main():
    registry = ToolRegistry.of(sleeps, stubborn)
    outcomes = await asyncio.gather(*(call_tool(t, {}, key=None, timeout=0.2) for t in registry.values()))
    print([outcome.code for outcome in outcomes], flush=True)

asyncio.run(main())
"""


def test_a_process_with_hung_tools_exits_at_once_and_quietly() -> None:
    root = Path(__file__).parents[2]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", EXIT_SCRIPT], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "['timeout', 'timeout']"
    assert done.stderr == ""
    assert time.monotonic() - began < 30


async def test_the_callers_own_cancellation_propagates_and_cancels_the_tool() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    task = asyncio.create_task(called(hangs))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_tool_that_cancels_itself_fails_and_cancels_nobody_else() -> None:
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    assert (await failed(cancels_itself)).code == "cancelled"


async def test_sync_tools_see_the_callers_context_variables() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")

    def who() -> str:
        return tenant.get()

    tenant.set("acme")
    assert await called(who) == CallSucceeded("acme")
