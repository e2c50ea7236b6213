"""The sync edge: results, errors and cancellation cross it, from any thread and inside any loop."""

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graph.bridge import iterate_sync, run_sync

ROOT = Path(__file__).parents[2]
NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")


async def _double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_a_result_comes_back() -> None:
    assert run_sync(lambda: _double(4)) == 8


def test_an_error_comes_back_as_it_is() -> None:
    async def fails() -> None:
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        run_sync(fails)


def test_the_callers_context_goes_along() -> None:
    async def who() -> str:
        return NAME.get()

    token = NAME.set("somebody")
    assert run_sync(who) == "somebody"
    NAME.reset(token)


def test_many_threads_share_one_loop() -> None:
    async def loop() -> int:
        await asyncio.sleep(0.01)
        return id(asyncio.get_running_loop())

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: run_sync(loop), range(16)))) == 1


async def test_it_works_inside_a_running_loop() -> None:
    assert run_sync(lambda: _double(3)) == 6


def test_it_works_inside_itself() -> None:
    async def inner() -> int:
        return run_sync(lambda: _double(5))

    assert run_sync(inner) == 10


@pytest.mark.parametrize("exit_by", [SystemExit, KeyboardInterrupt])
def test_work_that_asks_to_exit_takes_nobody_else_along(exit_by: type[BaseException]) -> None:
    async def exits() -> None:
        raise exit_by(3)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(exit_by):
            pool.submit(run_sync, exits).result(timeout=5)
        assert pool.submit(run_sync, lambda: _double(1)).result(timeout=5) == 2


def test_items_come_one_by_one_and_errors_after_them() -> None:
    async def source() -> AsyncIterator[int]:
        yield 1
        yield 2
        raise ValueError("no more")

    items = iterate_sync(source)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="no more"):
        next(items)


def test_closing_the_iterator_ends_the_source_before_it_returns() -> None:
    ended: list[str] = []

    async def source() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0.01)
        finally:
            await asyncio.sleep(0.05)
            ended.append("ended")

    async def drained() -> AsyncIterator[int]:
        inner = source()
        try:
            async for item in inner:
                yield item
        finally:
            await inner.aclose()  # type: ignore[attr-defined]

    items = iterate_sync(drained)
    assert next(items) == 1
    items.close()  # type: ignore[attr-defined]
    assert ended == ["ended"]


def test_ctrl_c_cancels_the_work_before_the_caller_goes_on() -> None:
    code = """
import asyncio, os, signal, threading, sys
from graph.bridge import run_sync
async def work():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        await asyncio.sleep(30)
    finally:
        await asyncio.sleep(0.05)
        print("let go", flush=True)
try:
    run_sync(work)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    assert _python(code) == ["let go", "interrupted"]


def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    code = """
import os, asyncio, warnings
warnings.simplefilter("ignore")
from graph.bridge import run_sync
async def work():
    return 7
run_sync(work)
child = os.fork()
if child == 0:
    print(run_sync(work), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    assert _python(code) == ["7"]


def _python(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_a_cancelled_caller_in_another_thread_leaves_the_loop_usable() -> None:
    started = threading.Event()

    async def slow() -> None:
        started.set()
        await asyncio.sleep(0.2)

    thread = threading.Thread(target=run_sync, args=(slow,))
    thread.start()
    assert started.wait(5)
    before = time.monotonic()
    assert run_sync(lambda: _double(2)) == 4
    assert time.monotonic() - before < 0.2
    thread.join()
