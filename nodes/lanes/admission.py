"""Caps: how many steps run at once, in all, per tool and per session of a stateful tool, and how often."""

import asyncio
import contextlib
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, TypeAlias

from tools import CallFailed
from tools.limits import Entry, Full, Later, Passed, Shut

GLOBAL_CAP = "all"

Group: TypeAlias = tuple[str, ...]

_FREE = Passed()


class Gate(Protocol):
    """What a tool's own places, rate and breaker say, asked at the moment a place is given."""

    @property
    def name(self) -> str:
        """The same for all calls that it judges alike."""
        ...

    @property
    def patience(self) -> float | None:
        """Seconds that whoever asks has to wait at most; None for ever."""
        ...

    def enter(self, wake: Callable[[], None]) -> Entry:
        """Ask to make one call now; `wake` is called when there may be room after there was none."""
        ...

    def close(self, passed: Passed) -> None:
        """Take back leave that was given."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait by the clock that the gate goes by."""
        ...


class NotAdmitted(Exception):  # noqa: N818 - a refusal, which the caller turns into the call's failure
    """The gate lets the call through neither now nor in time; `failure` says why."""

    def __init__(self, failure: CallFailed) -> None:
        """Keep the failure."""
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Demand:
    """The caps one step counts against, by name, with their limits, and its tool's gate if it has one."""

    limits: Mapping[str, int]
    gate: Gate | None = None

    def fits(self, running: Mapping[str, int]) -> bool:
        return all(running.get(name, 0) < limit for name, limit in self.limits.items())

    @property
    def group(self) -> Group:
        """What those have in common who may start at the same moments."""
        return (*sorted(self.limits), f"gate:{self.gate.name}" if self.gate is not None else "")


@dataclass(order=True)
class _Waiter:
    rank: tuple[float, int]
    demand: Demand = field(compare=False)
    admitted: asyncio.Future[Passed] = field(compare=False)


class Admission:
    """Admits waiting steps in order of priority as soon as every cap they count against has room.

    A step that waits for its tool's cap, or until its tool may be called again, holds no other cap
    meanwhile, so it never starves others.
    """

    def __init__(self) -> None:
        self.running: Counter[str] = Counter()
        self._waiters: dict[Group, list[_Waiter]] = {}
        self._alarms: dict[Group, asyncio.Task[None]] = {}
        self._sequence = count()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.asynccontextmanager
    async def slot(self, demand: Demand, priority: float) -> AsyncIterator[Passed]:
        """Hold one place under every cap of `demand`; a higher `priority` is admitted earlier.

        Raises:
            NotAdmitted: The demand's gate refuses.
        """
        passed = await self._enter(demand, priority)
        try:
            yield passed
        finally:
            self._leave(demand, passed)

    async def _enter(self, demand: Demand, priority: float) -> Passed:
        if not self._waiters and demand.gate is None and demand.fits(self.running):
            self.running.update(demand.limits.keys())
            return _FREE
        self._loop = asyncio.get_running_loop()
        admitted: asyncio.Future[Passed] = self._loop.create_future()
        waiter = _Waiter((-priority, next(self._sequence)), demand, admitted)
        heapq.heappush(self._waiters.setdefault(demand.group, []), waiter)
        self._admit()
        try:
            return await admitted
        except asyncio.CancelledError:
            if not admitted.cancelled() and admitted.exception() is None:
                self._leave(demand, admitted.result())
            self._first(demand.group)
            raise

    def _leave(self, demand: Demand, passed: Passed) -> None:
        if demand.gate is not None:
            demand.gate.close(passed)
        self.running.subtract(demand.limits.keys())
        self._admit()

    def _admit(self) -> None:
        """Let in whoever fits, best first. Only the first of each group is looked at: others fit no more."""
        firsts = [(first.rank, group) for group in list(self._waiters) if (first := self._first(group))]
        heapq.heapify(firsts)
        while firsts:
            _, group = heapq.heappop(firsts)
            waiter = self._waiters[group][0]
            if self._decided(waiter):
                heapq.heappop(self._waiters[group])
                if first := self._first(group):
                    heapq.heappush(firsts, (first.rank, group))
            elif self._full_for_all(waiter.demand):
                return

    def _first(self, group: Group) -> _Waiter | None:
        """The group's first that still waits; a group in which nobody waits is forgotten."""
        waiters = self._waiters.get(group, [])
        while waiters and waiters[0].admitted.done():
            heapq.heappop(waiters)
        if waiters:
            return waiters[0]
        self._waiters.pop(group, None)
        if alarm := self._alarms.pop(group, None):
            alarm.cancel()
        return None

    def _decided(self, waiter: _Waiter) -> bool:
        """Admit or refuse one waiter; False when it has to wait."""
        demand = waiter.demand
        if not demand.fits(self.running):
            return False
        entry = demand.gate.enter(self._wake) if demand.gate is not None else _FREE
        match entry:
            case Later(seconds):
                self._wake_in(seconds, demand)
                return False
            case Full():
                if demand.gate is not None and demand.gate.patience is not None:
                    self._wake_in(demand.gate.patience, demand)
                return False
            case Shut(failure):
                waiter.admitted.set_exception(NotAdmitted(failure))
            case Passed():
                self.running.update(demand.limits.keys())
                waiter.admitted.set_result(entry)
        return True

    def _wake(self) -> None:
        """Look again soon: another run, perhaps on another event loop, has given a place back."""
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):  # that loop is closed, and nobody waits here any more
            self._loop.call_soon_threadsafe(self._admit)

    def _wake_in(self, seconds: float, demand: Demand) -> None:
        group, gate = demand.group, demand.gate
        if gate is None or group in self._alarms:
            return

        async def wake() -> None:
            await gate.sleep(seconds)
            del self._alarms[group]
            self._admit()

        self._alarms[group] = asyncio.get_running_loop().create_task(wake())

    def _full_for_all(self, demand: Demand) -> bool:
        limit = demand.limits.get(GLOBAL_CAP)
        return limit is not None and self.running[GLOBAL_CAP] >= limit
