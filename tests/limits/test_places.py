"""Places of a tool and of its sessions: held by all runs of a graph together, items of maps too."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from tests.limits.support import House, Json, rows, run, step, thread, wish
from tools import policy


class Room:
    """A stateful tool that sees who is inside."""

    def __init__(self, **fields: Any) -> None:
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.served = 0
        self.fields = {"effect": "read", **fields}
        self.entered = asyncio.Event()
        self._lock = threading.Lock()

    def tools(self) -> list[Any]:
        @policy(**self.fields)
        async def visit(n: int = 0, session: str = "main", turns: int = 2) -> int:
            """Be inside for a while."""
            names = ["all", session]
            with self._lock:
                self.inside.update(names)
                self.most |= self.inside
            self.entered.set()
            for _ in range(turns):
                await asyncio.sleep(0)
            with self._lock:
                self.inside.subtract(names)
                self.served += 1
            return n

        return [visit]


def _house(room: Room, **more: Any) -> House:
    return House(Path(), room.tools(), settings={"max_concurrency": 16, **more})


def test_items_of_a_map_and_steps_beside_it_share_a_session_also_by_its_default_name(tmp_path: Path) -> None:
    room = Room(session_arg="session")
    house = House(tmp_path / "runs.db", room.tools(), settings={"max_concurrency": 16})
    items: Json = {
        "id": "m",
        "action": "map",
        "over": list(range(12)),
        "step": {"action": "tool", "tool": "visit", "args": {"n": "${item}"}},
    }
    steps = [step(f"s{n}", "visit", args={"session": "main"}) for n in range(4)]
    others = [step(f"o{n}", "visit", args={"session": f"own {n}", "turns": 40}) for n in range(3)]

    with house.opened() as graph:
        document = run(graph, items, *steps, *others)

    assert document["status"] == "succeeded"
    assert rows(document)["m"]["output"]["results"] == list(range(12))
    assert room.served == 19
    assert room.most["main"] == 1
    assert room.most["all"] > 1


@settings(max_examples=20)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6), min_size=1, max_size=4),
    st.integers(1, 3) | st.none(),
)
def test_no_session_is_entered_twice_and_no_tool_more_often_than_it_takes(
    runs: list[list[str]], most: int | None
) -> None:
    room = Room(session_arg="session", max_concurrency=most)
    graph = _house(room).graph(InMemorySaver(), InMemoryStore())

    async def all_runs() -> Any:
        plans = [
            wish(*(step(f"s{n}", "visit", args={"session": name}) for n, name in enumerate(names)))
            for names in runs
        ]
        async with asyncio.timeout(60):
            return await asyncio.gather(
                *(graph.ainvoke(plan, thread(f"r{n}")) for n, plan in enumerate(plans))
            )

    documents = asyncio.run(all_runs())

    assert {document["status"] for document in documents} == {"succeeded"}
    assert room.served == sum(map(len, runs))
    assert all(room.most[name] <= 1 for name in "abc")
    assert room.most["all"] <= (most or 3)


def test_runs_on_several_event_loops_share_the_places_too() -> None:
    room = Room(max_concurrency=1)
    graph = _house(room).graph(InMemorySaver(), InMemoryStore())
    plan = wish(*(step(f"s{n}", "visit", args={"turns": 30}) for n in range(5)))
    ended: list[str] = []

    def own_loop(name: str) -> None:
        ended.append(asyncio.run(graph.ainvoke(plan, thread(name)))["status"])

    threads = [threading.Thread(target=own_loop, args=(f"r{n}",)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)

    assert ended == ["succeeded"] * 3
    assert room.served == 15
    assert room.most["all"] == 1


async def test_a_cancelled_run_gives_its_places_back(tmp_path: Path) -> None:
    room = Room(max_concurrency=1)
    house = House(tmp_path / "runs.db", room.tools())

    with house.opened() as graph:
        first = asyncio.ensure_future(
            graph.ainvoke(wish(step("a", "visit", args={"turns": 1_000_000})), thread("r1"))
        )
        await room.entered.wait()
        second = asyncio.ensure_future(graph.ainvoke(wish(step("a", "visit")), thread("r2")))
        await asyncio.sleep(0)
        first.cancel()
        document = await second

    with pytest.raises(asyncio.CancelledError):
        await first
    assert document["status"] == "succeeded"


async def test_nobody_waits_for_a_place_longer_than_there_is_time(tmp_path: Path) -> None:
    room = Room(max_concurrency=1)
    house = House(tmp_path / "runs.db", room.tools())

    with house.opened() as graph:
        first = asyncio.ensure_future(
            graph.ainvoke(wish(step("a", "visit", args={"turns": 1_000_000})), thread("r1"))
        )
        await room.entered.wait()
        hurried: Any = {"max_wall_seconds": 20}
        late = await graph.ainvoke(wish(step("a", "visit")), thread("r2"), context=hurried)
        first.cancel()
        await asyncio.wait({first})

    assert late["steps"][0]["status"] == "cancelled"
    assert late["steps"][0]["attempts"] == 0
    assert "max_wall_seconds" in late["reason"]
