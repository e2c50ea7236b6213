"""Caps: how many steps run at once, in all, per tool and per session of a stateful tool."""

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count


@dataclass(frozen=True)
class Demand:
    """The caps one step counts against, by name, with their limits."""

    limits: Mapping[str, int]

    def fits(self, running: Mapping[str, int]) -> bool:
        return all(running.get(name, 0) < limit for name, limit in self.limits.items())


@dataclass(order=True)
class _Waiter:
    rank: tuple[float, int]
    demand: Demand = field(compare=False)
    admitted: asyncio.Future[None] = field(compare=False)


class Admission:
    """Admits waiting steps in order of priority as soon as every cap they count against has room.

    A step that waits for its tool's cap holds no other cap meanwhile, so it never starves others.
    """

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self._waiters: list[_Waiter] = []
        self._sequence = count()

    @asynccontextmanager
    async def slot(self, demand: Demand, priority: float) -> AsyncIterator[None]:
        """Hold one place under every cap of `demand`; a higher `priority` is admitted earlier."""
        await self._enter(demand, priority)
        try:
            yield
        finally:
            self._leave(demand)

    async def _enter(self, demand: Demand, priority: float) -> None:
        waiter = _Waiter(
            (-priority, next(self._sequence)), demand, asyncio.get_running_loop().create_future()
        )
        heapq.heappush(self._waiters, waiter)
        self._admit()
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            if not waiter.admitted.cancelled():
                self._leave(demand)
            raise

    def _leave(self, demand: Demand) -> None:
        self.running.subtract(demand.limits.keys())
        self._admit()

    def _admit(self) -> None:
        held: list[_Waiter] = []
        while self._waiters:
            waiter = heapq.heappop(self._waiters)
            if waiter.admitted.cancelled():
                continue
            if waiter.demand.fits(self.running):
                self.running.update(waiter.demand.limits.keys())
                waiter.admitted.set_result(None)
            else:
                held.append(waiter)
                if self._full_for_all(waiter.demand):
                    break
        for waiter in held:
            heapq.heappush(self._waiters, waiter)

    def _full_for_all(self, demand: Demand) -> bool:
        limit = demand.limits.get(GLOBAL_CAP)
        return limit is not None and self.running[GLOBAL_CAP] >= limit


GLOBAL_CAP = "all"
