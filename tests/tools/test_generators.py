"""Tools that give bit by bit: the list of their items, after one call."""

from collections.abc import AsyncIterator, Iterator

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool

import tools.drained
from tests.tools.calling import Count, called, failed, lambda_named
from tools import CallSucceeded, ToolPolicy
from tools.registration import AnyTool


def _generators(count: Count) -> dict[str, AnyTool]:
    def items() -> Iterator[int]:
        count()
        yield from (1, 2)

    async def items_async() -> AsyncIterator[int]:
        count()
        for number in (1, 2):
            yield number

    class Items(BaseTool):
        name: str = "items"
        description: str = "d"

        def _run(self) -> Iterator[int]:
            yield from items()

    class ItemsAsync(Items):
        async def _arun(self) -> AsyncIterator[int]:  # type: ignore[override]
            async for number in items_async():
                yield number

    async def returns_async() -> AsyncIterator[int]:
        return items_async()

    return {
        "function": items,
        "@tool": tool(items, description="d"),
        "class": Items(),
        "async function": items_async,
        "async @tool": StructuredTool.from_function(items_async, name="items_async", description="d"),
        "async class": ItemsAsync(),
        "returned": lambda_named(lambda: count(number for number in (1, 2))),
        "returned by async": returns_async,
        "map": lambda_named(lambda: map(int, count(["1", "2"]))),
    }


@pytest.mark.parametrize("kind", list(_generators(Count())))
async def test_a_generator_is_the_list_of_its_items(count: Count, kind: str) -> None:
    assert await called(_generators(count)[kind]) == CallSucceeded([1, 2])
    assert count.calls == 1


async def test_a_generator_that_fails_on_its_way_is_a_failed_tool(count: Count) -> None:
    def breaks() -> Iterator[int]:
        yield count(1)
        raise ConnectionError("gone")

    read, write = await failed(breaks), await failed(breaks, policy=ToolPolicy())
    assert (read.kind, write.kind) == ("soft", "unknown")
    assert count.calls == 2


@pytest.mark.parametrize("on_loop", [True, False])
async def test_a_generator_without_end_is_refused_and_not_taken_any_further(
    count: Count, on_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.drained, "MAX_ITEMS", 1000)

    def endless() -> Iterator[int]:
        while True:
            yield count(1)

    async def endless_async() -> AsyncIterator[int]:
        while True:
            yield count(1)

    failure = await failed(endless_async if on_loop else endless)
    assert (failure.kind, failure.code) == ("hard", "unsupported_result")
    assert "more than" in failure.message
    assert count.calls == 1001


async def test_a_slow_generator_runs_out_of_time_and_is_taken_no_further(count: Count) -> None:
    import threading

    gone_on, waiting = threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        try:
            yield 1
            waiting.wait(30)
            while True:
                yield count(2)
        finally:
            gone_on.set()

    failure = await failed(slow, timeout=0.2)
    assert (failure.kind, failure.code) == ("soft", "timeout")
    waiting.set()
    assert gone_on.wait(30)
    assert count.calls == 1
