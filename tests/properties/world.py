"""The world in which random plans act: scripted tools that count everything, and can be killed."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

from tests.properties.specs import CAPPED_AT, MAX_ATTEMPTS, Behaviour, Kind, Spec
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, ToolRegistry, policy


class Killed(Exception):  # noqa: N818 - an end, not an error
    """The simulated process has ended: nothing it does from here on has any effect."""


class Fuse:
    """Ends the simulated process at its N-th point: before or after a store call or a tool's effect."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.passed = 0
        self.dead = False

    def point(self) -> None:
        self.passed += 1
        if self.dead or self.passed == self.at:
            self.dead = True
            raise Killed(f"killed at point {self.at}")


@dataclass
class World:
    """What happened outside, over all processes of one run, and every rule that was broken."""

    specs: Mapping[str, Spec]
    max_concurrency: int
    fuse: Fuse = field(default_factory=Fuse)
    on_call: Callable[[int], None] = lambda _count: None
    calls: Counter[str] = field(default_factory=Counter)
    ended: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    effects: defaultdict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    running: Counter[str] = field(default_factory=Counter)
    active: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def happened(self, step_id: str) -> bool:
        return bool(self.effects[step_id])

    def effect_of(self, step_id: str) -> Any:
        (value,) = self.effects[step_id].values()
        return value

    def killed(self) -> None:
        """Whatever was under way in the process is no more."""
        self.running, self.active = Counter(), Counter()

    @asynccontextmanager
    async def call(self, spec: Spec) -> AsyncIterator[int]:
        """One call: its number, with every rule about calls checked."""
        if self.fuse.dead:
            raise Killed
        self.calls[spec.id] += 1
        self.order.append(spec.id)
        running, active = self.running, self.active
        if spec.id in self.finished:
            self.broken.append(f"{spec.id} ran again after its result was durable")
        needs = [name for dep in spec.depends_on for name in self._awaited(dep)]
        if unmet := [name for name in needs if not self._has_ended(name)]:
            self.broken.append(f"{spec.id} ran before {unmet}")
        names = _caps(spec, self.max_concurrency)
        running.update(names.keys())
        active[spec.id] += 1
        self.broken += [f"{running[n]} {n} at once" for n, most in names.items() if running[n] > most]
        try:
            self.on_call(self.calls.total())
            for _ in range(spec.pace):
                await asyncio.sleep(0)
            yield self.calls[spec.id]
        finally:
            running.subtract(names.keys())
            active[spec.id] -= 1

    def _awaited(self, step_id: str) -> Iterator[str]:
        """The calls that whoever depends on a step waits for: all that it comes to, but for its undoing."""
        spec = self.specs[step_id]
        yield step_id
        needed = {dep for each in spec.part for dep in each.depends_on}
        ends = [each for each in spec.part if each.id not in needed]
        for each in (spec.fallback, *spec.items, *ends):
            if each is not None:
                yield from self._awaited(each.id)

    def _has_ended(self, name: str) -> bool:
        # An item that a process left in the middle is not taken up again once its map is lost.
        done = name in self.ended or "#" in name
        return not self.active[name] if done else self.calls[name] == 0

    def has_effect(self, spec: Spec, key: str | None, value: Any) -> None:
        done = self.effects[spec.id]
        done.setdefault(key or f"call {self.calls[spec.id]}", value)
        if len(done) > 1:
            self.broken.append(f"{spec.id} had {len(done)} effects")


def _caps(spec: Spec, max_concurrency: int) -> dict[str, int]:
    caps = {"all": max_concurrency}
    if spec.kind is Kind.LOOK_CAPPED:
        caps["capped"] = CAPPED_AT
    if spec.kind is Kind.LOOK_SESSION:
        caps[f"session {spec.session}"] = 1
    return caps


WORLD: ContextVar[World] = ContextVar("world")


async def _act(step: str, value: Any, key: str | None = None) -> dict[str, Any]:
    world = WORLD.get()
    spec = world.specs[step]
    async with world.call(spec) as number:
        world.fuse.point()
        _fail_before(spec, number)
        if spec.kind.writes and not (spec.behaviour is Behaviour.DOUBT_NOT_DONE and number == 1):
            world.has_effect(spec, key, value)
        await asyncio.sleep(0)
        world.fuse.point()
        _fail_after(spec, number)
        world.ended.add(step)
        return {"step": step, "value": value}


def fail_as_model(spec: Spec, number: int) -> None:
    """Raise what the spec's model raises at its `number`-th call."""
    ended = WORLD.get().ended
    if spec.behaviour is Behaviour.HARD:
        ended.add(spec.id)
        raise ValueError("the model cannot do this")
    if spec.behaviour is Behaviour.NEVER or (spec.behaviour is Behaviour.SOFT and number <= spec.failures):
        if number >= MAX_ATTEMPTS:
            ended.add(spec.id)
        raise ConnectionError("the model is away")


def _fail_before(spec: Spec, number: int) -> None:
    match spec.behaviour:
        case Behaviour.HARD:
            WORLD.get().ended.add(spec.id)
            raise HardToolError("not_found", f"{spec.id} is not there")
        case Behaviour.NEVER:
            if number >= MAX_ATTEMPTS:
                WORLD.get().ended.add(spec.id)
            raise SoftToolError(f"{spec.id} is busy")
        case Behaviour.SOFT if number <= spec.failures:
            raise SoftToolError(f"{spec.id} is busy")


def _fail_after(spec: Spec, number: int) -> None:
    match spec.behaviour:
        case Behaviour.LATE if number <= spec.failures:
            raise SoftToolError(f"{spec.id} took too long to say that it is done")
        case Behaviour.DOUBT_DONE | Behaviour.DOUBT_NOT_DONE if number == 1:
            raise OutcomeUnknown(f"the line to {spec.id} went dead")


@policy(effect="read", backoff_base=0, max_attempts=MAX_ATTEMPTS)
async def look(step: str, value: Any) -> dict[str, Any]:
    """Look something up."""
    return await _act(step, value)


@policy(effect="read", backoff_base=0, max_attempts=MAX_ATTEMPTS, max_concurrency=CAPPED_AT)
async def look_capped(step: str, value: Any) -> dict[str, Any]:
    """Look something up, a few at a time."""
    return await _act(step, value)


@policy(effect="read", backoff_base=0, max_attempts=MAX_ATTEMPTS, session_arg="session")
async def look_session(step: str, value: Any, session: str) -> dict[str, Any]:
    """Look something up in a session."""
    return await _act(step, value)


@policy(effect="write", idempotent=True, backoff_base=0, max_attempts=MAX_ATTEMPTS, risk="low")
async def put(step: str, value: Any, key: Annotated[str, IdempotencyKey]) -> dict[str, Any]:
    """Write under a key."""
    return await _act(step, value, key)


@policy(effect="write", idempotent=False, backoff_base=0, max_attempts=MAX_ATTEMPTS, risk="low")
async def put_once(step: str, value: Any) -> dict[str, Any]:
    """Write without a key."""
    return await _act(step, value)


REGISTRY = ToolRegistry.of(look, look_capped, look_session, put, put_once)
