"""Results that answer equal calls: fresh ones instead of a call, older ones in the place of a failed one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from checkpoints import UNEXPECTED_RESULT, KeptResult
from graph.plan import StepStatus
from nodes.lanes.calls_gate import RATE_LIMITED
from nodes.lanes.results import Result, failed
from nodes.lanes.run import StepRun
from nodes.metering import BUDGET_SPENT, STEP_BUDGET_SPENT
from tools import RegisteredTool
from tools.cache import Flight, cache_key, has_secret, keeps_results

_OWN_LIMITS = frozenset({BUDGET_SPENT, STEP_BUDGET_SPENT, RATE_LIMITED, UNEXPECTED_RESULT})
"""Ends that come of one step's budgets and expectations; another step may have others."""


@dataclass(frozen=True)
class Landed:
    """How a call ended that others waited for. `attempts` and `timeout` are what it was allowed."""

    end: Result
    at: KeptResult | None
    attempts: int
    timeout: float

    def holds_for(self, attempts: int, timeout: float) -> bool:
        """Whether the same call would end so for another step, which is allowed this much."""
        error = self.end.error
        if self.at is not None or error is None or error.code in _OWN_LIMITS:
            return self.at is not None
        return error.kind == "hard" or (attempts <= self.attempts and timeout <= self.timeout)


async def kept_or_called(
    run: StepRun, tool: RegisteredTool, args: dict[str, Any], call: Callable[[], Awaitable[Result]]
) -> Result:
    """The tool's result: a fresh one of an equal call, or that of `call`, which is kept for others.

    Of equal calls at once one is made. What it gives, or how it fails for good, is the end of all; when it
    was cut off or had less time than another step has, the next of them makes the call.
    """
    if not keeps_results(tool) or has_secret(tool, args):
        return await call()
    kept = Kept(run, tool, args)
    if tool.policy.cache_ttl is None:
        return await kept.keep(await call())
    return await kept.shared(call)


class Kept:
    """What is kept of one call."""

    def __init__(self, run: StepRun, tool: RegisteredTool, args: dict[str, Any]) -> None:
        """Name the call; nothing is read yet."""
        self._run, self._tool = run, tool
        self._key = cache_key(tool, args, _scope(run, tool))
        self._cache = run.session.results
        self._attempts = run.step.max_attempts or tool.policy.max_attempts
        self._timeout = run.step.timeout or tool.policy.timeout

    async def shared(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """A fresh result, that of an equal call under way, or that of a call."""
        flights = self._run.session.engine.limits.flights
        key = (id(self._run.session.journal.store), self._key)
        while True:
            flight = flights.board(key)
            if not flight.leads:
                landed = await self._wait_for(flight)
                if isinstance(landed, Result):
                    return landed
                if landed is not None and landed.holds_for(self._attempts, self._timeout):
                    return self._as_landed(landed)
                continue
            ended: Landed | None = None
            try:
                fresh = await self._fresh()
                end = await self.keep(await call()) if fresh is None else self._from_cache(fresh)
                at = fresh or self._made(end)
                ended = Landed(end, at, self._attempts, self._timeout)
            finally:
                flights.land(key, ended)
            return end

    async def keep(self, end: Result) -> Result:
        """Write a success down for equal calls to come."""
        made = self._made(end)
        if made is not None:
            until = made.at + timedelta(seconds=self._tool.policy.keeps_for)
            await self._cache.put(self._key, made, until)
        return end

    async def stale(self, end: Result) -> Result | None:
        """An older result in the place of a failed call; None when there is none that may be used."""
        found = await self._cache.get(self._key)
        if found is None or self._age(found) > self._tool.policy.stale_ttl:
            return None
        why = f"{end.error.code}: {end.error.message}" if end.error else "the call failed"
        taken = self._taken(found, f"stale, {self._age(found):.0f} s old: {why}", stale=True)
        self._run.emit("step_stale", taken.note)
        return taken

    async def _fresh(self) -> KeptResult | None:
        found = await self._cache.get(self._key)
        ttl = self._tool.policy.cache_ttl or 0.0
        return found if found is not None and self._age(found) < ttl else None

    async def _wait_for(self, flight: Flight[Landed]) -> Landed | Result | None:
        """How the call under way ends; a failure when the step's own time is over first."""
        spent = self._run.spent
        landing = asyncio.wrap_future(flight.future)
        await asyncio.wait({landing}, timeout=spent.ledger.seconds_left(spent))
        if landing.done():
            return landing.result()
        late = spent.no_time_for(0.0) or "the time is over"
        return failed("soft", "timeout", f"an equal call of {self._tool.name} is still under way; {late}")

    def _as_landed(self, landed: Landed) -> Result:
        if landed.at is not None:
            return self._from_cache(landed.at)
        self._begin()
        return replace(landed.end, note="failed as an equal call did at the same time")

    def _from_cache(self, found: KeptResult) -> Result:
        taken = self._taken(found, f"from the cache, {self._age(found):.0f} s old", stale=False)
        self._run.emit("step_from_cache", taken.note)
        return taken

    def _taken(self, found: KeptResult, note: str, *, stale: bool) -> Result:
        self._begin()
        run, age = self._run, round(self._age(found), 3)
        run.entry = run.entry.model_copy(update={"age": age, "stale": stale})
        return Result(StepStatus.SUCCEEDED, found.output, note=note)

    def _begin(self) -> None:
        """The step has begun although it called nothing."""
        run = self._run
        if run.entry.started_at is None:
            run.entry = run.entry.model_copy(update={"started_at": run.session.engine.now()})
            run.emit("step_started")

    def _made(self, end: Result) -> KeptResult | None:
        own = end.status is StepStatus.SUCCEEDED and self._run.entry.age is None
        return KeptResult(end.output, self._run.session.engine.now()) if own else None

    def _age(self, found: KeptResult) -> float:
        return found.age(self._run.session.engine.now())


def _scope(run: StepRun, tool: RegisteredTool) -> str:
    """Whose results a call may take: the run's own, or those of all who share a name in this store."""
    if tool.policy.cache_scope == "run":
        return f"run {run.session.run_id}"
    return f"shared {run.session.settings.cache_scope}"
