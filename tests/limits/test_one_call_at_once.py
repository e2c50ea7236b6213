"""Runs that ask the same: one call at once, none while a kept result is fresh, and nobody left behind."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from tests.limits.support import Clock, House, step, thread, wish
from tools import HardToolError, SoftToolError, policy

TTL = 10.0
End = Literal["good", "hard", "soft"]


@dataclass
class Caller:
    """One run: when it comes, and after how many seconds its caller gives up, if ever."""

    comes: float
    gives_up: float | None


@dataclass
class Service:
    """Takes its time, and ends each call as told; sees how many are inside and when each began and ended."""

    clock: Clock
    ends: list[tuple[End, float]]
    inside: int = 0
    most: int = 0
    calls: list[tuple[float, float, End]] = field(default_factory=list)

    def tools(self) -> list[Any]:
        @policy(effect="read", max_attempts=2, backoff_base=1, cache_ttl=TTL, cache_scope="shared")
        async def ask() -> int:
            """Ask the service."""
            return await self._call()

        return [ask]

    async def _call(self) -> int:
        end, seconds = self.ends.pop(0) if self.ends else ("good", 1.0)
        begun = self.clock.now().timestamp()
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.clock.sleep(seconds)
            self.calls.append((begun, self.clock.now().timestamp(), end))
        finally:
            self.inside -= 1
        if end == "hard":
            raise HardToolError("not_found", "not there")
        if end == "soft":
            raise SoftToolError("busy")
        return len(self.calls)


async def _comes(graph: Any, clock: Clock, number: int, caller: Caller) -> Any:
    await clock.sleep(caller.comes)
    run = asyncio.ensure_future(graph.ainvoke(wish(step("a", "ask")), thread(f"r{number}")))
    if caller.gives_up is not None:
        await clock.sleep(caller.gives_up)
        run.cancel()
    try:
        return (await run)["steps"][0]
    except asyncio.CancelledError:
        return None


CALLERS = st.lists(
    st.builds(Caller, st.integers(0, 30).map(float), st.none() | st.none() | st.integers(0, 5).map(float)),
    min_size=1,
    max_size=7,
)
ENDS = st.lists(
    st.tuples(st.sampled_from(["good", "good", "hard", "soft"]), st.sampled_from([1.0, 4.0])), max_size=8
)


@settings(max_examples=25)
@given(CALLERS, ENDS)
def test_equal_calls_never_overlap_and_none_is_made_while_a_result_is_fresh(
    callers: list[Caller], ends: list[tuple[End, float]]
) -> None:
    clock = Clock()
    service = Service(clock, ends)
    graph = House(Path(), service.tools(), clock).graph(InMemorySaver(), InMemoryStore())

    async def all_of_them() -> list[Any]:
        async with asyncio.timeout(60):
            return await asyncio.gather(*(_comes(graph, clock, n, c) for n, c in enumerate(callers)))

    told = asyncio.run(all_of_them())

    assert service.most <= 1
    good = [(begun, ended) for begun, ended, end in service.calls if end == "good"]
    begins = [begun for begun, _, _ in service.calls]
    assert not [b for b in begins for _, ended in good if ended < b < ended + TTL]
    patient = [row for caller, row in zip(callers, told, strict=True) if caller.gives_up is None]
    assert all(row is not None and row["status"] in ("succeeded", "failed") for row in patient)
    assert all(row["attempts"] <= 2 for row in told if row is not None)
    assert sum(row["attempts"] for row in told if row is not None) <= len(service.calls)
