"""The journal against a plain dict, over random interleavings of everything that can be done with it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

from checkpoints import Journal
from tests.checkpoints.support import step

KEYS = st.sampled_from(["s1", "s2", "s3"])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("note"), KEYS),
        st.tuples(st.just("commit"), KEYS),
        st.tuples(st.just("flush"), st.just("")),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.just("fail"), st.integers(1, 2)),
        st.tuples(st.just("slow"), st.integers(0, 5)),
        st.tuples(st.just("tick"), st.integers(1, 4)),
        st.tuples(st.just("load"), st.just("")),
    ),
    max_size=40,
)


class MoodyStore(InMemoryStore):
    """A store that is slow, fails when told to, and checks that no entry ever goes back in time."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.slowness = 0
        self.durable: dict[str, int] = {}

    async def abatch(self, ops: Any) -> list[Any]:
        wanted = list(ops)
        for _ in range(self.slowness):
            await asyncio.sleep(0)
        puts = {op.key: op.value["attempts"] for op in wanted if isinstance(op, PutOp) and op.value}
        if puts and self.failures:
            self.failures -= 1
            raise OSError("no space left")
        for key, version in puts.items():
            assert version >= self.durable.get(key, 0), f"{key} went back"
        self.durable |= puts
        return await super().abatch(wanted)


@dataclass
class Session:
    """One journal under test, and what a dict says should be in it."""

    store: MoodyStore = field(default_factory=MoodyStore)
    model: dict[str, int] = field(default_factory=dict)
    waiting: list[asyncio.Task[None]] = field(default_factory=list)
    failed: int = 0

    def __post_init__(self) -> None:
        self.journal = Journal(self.store, "run-1", flush_after=0.0)

    def entry(self, key: str) -> Any:
        self.model[key] = self.model.get(key, 0) + 1
        return step(key, attempts=self.model[key])

    async def durable(self, work: Any, expected: dict[str, int]) -> None:
        try:
            await work
        except OSError:
            self.failed += 1
        else:
            assert all(self.store.durable.get(key, 0) >= version for key, version in expected.items())

    def begin(self, work: Any) -> None:
        self.waiting.append(asyncio.create_task(self.durable(work, dict(self.model))))

    async def act(self, name: str, argument: Any) -> None:
        match name:
            case "note":
                self.journal.note(self.entry(argument))
            case "commit":
                self.begin(self.journal.commit(self.entry(argument)))
                await asyncio.sleep(0)  # the entry is handed in when the task first runs
            case "flush":
                self.begin(self.journal.flush())
                await asyncio.sleep(0)
            case "cancel" if self.waiting:
                self.waiting[argument % len(self.waiting)].cancel()
            case "fail":
                self.store.failures = argument
            case "slow":
                self.store.slowness = argument
            case "tick":
                for _ in range(argument):
                    await asyncio.sleep(0)
            case "load":
                self.begin(self.load())
                await asyncio.sleep(0)

    async def load(self) -> None:
        expected = dict(self.model)
        log = await self.journal.load()
        assert all(log.steps[key].attempts >= version for key, version in expected.items())

    async def end(self) -> None:
        outcomes = await asyncio.gather(*self.waiting, return_exceptions=True)
        wrong = [each for each in outcomes if each and not isinstance(each, asyncio.CancelledError)]
        assert wrong == []
        self.store.failures = 0
        await self.journal.aclose()
        log = await Journal(self.store, "run-1").load()
        assert {key: entry.attempts for key, entry in log.steps.items()} == self.model


@given(ACTIONS)
@settings(max_examples=300, deadline=None)
def test_whatever_happens_what_was_promised_is_stored_and_nothing_is_lost(
    actions: list[tuple[str, Any]],
) -> None:
    async def play() -> None:
        session = Session()
        for name, argument in actions:
            await session.act(name, argument)
        await session.end()

    asyncio.run(play())


@given(st.integers(1, 60), st.integers(0, 4))
@settings(max_examples=30, deadline=None)
def test_any_number_of_commits_at_once_takes_a_few_writes(count: int, slowness: int) -> None:
    async def play() -> None:
        store = MoodyStore()
        store.slowness = slowness
        writes = 0
        original = store.abatch

        async def counted(ops: Any) -> list[Any]:
            nonlocal writes
            writes += 1
            return await original(ops)

        store.abatch = counted  # type: ignore[method-assign]
        journal = Journal(store, "run-1")
        await asyncio.gather(*(journal.commit(step(f"s{n}", attempts=1)) for n in range(count)))
        assert writes <= 2

    asyncio.run(play())
