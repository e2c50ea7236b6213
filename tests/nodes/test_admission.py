"""Caps hold at every moment, whoever comes, goes or is cancelled, and everybody gets a turn."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.lanes.admission import GLOBAL_CAP, Admission, Demand

LIMITS = {GLOBAL_CAP: 3, "tool": 2, "session": 1}
DEMANDS = st.sampled_from(
    [
        Demand({name: LIMITS[name] for name in names})
        for names in (
            [GLOBAL_CAP],
            [GLOBAL_CAP, "tool"],
            [GLOBAL_CAP, "tool", "session"],
            [GLOBAL_CAP, "session"],
        )
    ]
)


@dataclass
class Guest:
    """One caller: when it comes, how long it stays, and when it is cancelled, in turns of the loop."""

    demand: Demand
    priority: int
    comes: int
    stays: int
    cancelled_at: int | None


GUESTS = st.lists(
    st.builds(
        Guest,
        DEMANDS,
        st.integers(0, 3),
        st.integers(0, 5),
        st.integers(0, 3),
        st.none() | st.none() | st.integers(0, 9),
    ),
    max_size=14,
)


@dataclass
class House:
    """Sees who is inside."""

    admission: Admission = field(default_factory=Admission)
    inside: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    served: int = 0

    async def visit(self, guest: Guest) -> None:
        await _turns(guest.comes)
        async with self.admission.slot(guest.demand, guest.priority):
            self.inside.update(guest.demand.limits.keys())
            self.most |= self.inside
            try:
                await _turns(guest.stays)
            finally:
                self.inside.subtract(guest.demand.limits.keys())
        self.served += 1


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def _all_visit(guests: list[Guest]) -> tuple[House, list[BaseException | None]]:
    house = House()
    visits = [asyncio.create_task(house.visit(guest)) for guest in guests]
    for turn in range(10):
        # Several are cancelled in one turn, before any of them has run again.
        for guest, visit in zip(guests, visits, strict=True):
            if guest.cancelled_at == turn:
                visit.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        ends = await asyncio.gather(*visits, return_exceptions=True)
    return house, ends


@settings(deadline=None)
@given(GUESTS)
def test_caps_hold_and_everybody_is_served_and_nothing_leaks(guests: list[Guest]) -> None:
    house, ends = asyncio.run(_all_visit(guests))

    assert all(house.most[name] <= limit for name, limit in LIMITS.items())
    assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
    assert house.served == sum(end is None for end in ends)
    assert all(isinstance(end, asyncio.CancelledError) or end is None for end in ends)
    assert all(end is None for guest, end in zip(guests, ends, strict=True) if guest.cancelled_at is None)
    assert house.admission.running.total() == 0


async def test_a_place_given_to_one_who_was_just_cancelled_goes_to_the_next() -> None:
    admission, order = Admission(), list[str]()
    one = Demand({GLOBAL_CAP: 1})

    async def visit(name: str, until: asyncio.Event) -> None:
        async with admission.slot(one, 0):
            order.append(name)
            await until.wait()

    leave = asyncio.Event()
    first = asyncio.create_task(visit("first", leave))
    await _turns(2)
    second = asyncio.create_task(visit("second", leave))
    third = asyncio.create_task(visit("third", leave))
    await _turns(2)
    leave.set()
    second.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(first, second, third, return_exceptions=True)

    assert order == ["first", "third"]
    assert second.cancelled()
    assert admission.running.total() == 0


async def test_the_longest_path_goes_first_and_equals_in_order_of_arrival() -> None:
    admission, order = Admission(), list[str]()
    one = Demand({GLOBAL_CAP: 1})

    async def visit(name: str, priority: float) -> None:
        async with admission.slot(one, priority):
            order.append(name)
            await asyncio.sleep(0)

    wanted = [("blocker", 9), ("low", 1), ("high", 3), ("mid", 2), ("high too", 3)]
    await asyncio.gather(*(visit(name, priority) for name, priority in wanted))

    assert order == ["blocker", "high", "high too", "mid", "low"]


async def test_who_waits_for_a_tool_holds_up_nobody_else() -> None:
    admission, order = Admission(), list[str]()

    async def visit(name: str, demand: Demand, priority: float, turns: int) -> None:
        async with admission.slot(demand, priority):
            order.append(name)
            await _turns(turns)

    busy = Demand({GLOBAL_CAP: 2, "tool": 1})
    free = Demand({GLOBAL_CAP: 2})
    await asyncio.gather(
        visit("in the tool", busy, 9, 20),
        visit("waits for the tool", busy, 8, 0),
        *(visit(f"other {n}", free, 0, 0) for n in range(3)),
    )

    assert order == ["in the tool", "other 0", "other 1", "other 2", "waits for the tool"]
