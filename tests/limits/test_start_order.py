"""Under a cap, what the longest rest of the plan waits for starts first, by what earlier runs took."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from checkpoints import StepEntry, add_durations, mean_durations, open_store
from checkpoints.durations import REMEMBERED
from graph.plan import Plan, StepStatus, longest_remaining
from nodes.decide.durations import expected_seconds, kind_of, seconds_taken
from tests.limits.support import NOON, Clock, House, Json, run, step, thread, wish
from tools import policy


class Stopwatch:
    """Tools that take their time by the clock, and write down who was called."""

    def __init__(self, clock: Clock, **seconds: float) -> None:
        self.clock = clock
        self.seconds = seconds
        self.order: list[str] = []

    def tools(self) -> list[Any]:
        return [self._tool(name) for name in self.seconds]

    def _tool(self, name: str) -> Any:
        async def work(step: str) -> str:
            """Work for a while."""
            self.order.append(step)
            self.clock.move(self.seconds[name])
            return step

        work.__name__ = name
        return policy(effect="read")(work)


def _work(step_id: str, tool: str, *after: str) -> Json:
    return step(step_id, tool, *after, args={"step": step_id})


def test_what_was_slow_in_the_last_run_starts_first_in_the_next(tmp_path: Path) -> None:
    clock = Clock()
    watch = Stopwatch(clock, quick=1, slow=30)
    house = House(tmp_path / "runs.db", watch.tools(), clock, {"max_concurrency": 1})
    steps = [_work("q1", "quick"), _work("q2", "quick"), _work("s", "slow"), _work("q3", "quick", "q2")]

    for name in ("r1", "r2"):
        with house.opened() as graph:
            run(graph, *steps, name=name)

    assert watch.order[:4] == ["q2", "q1", "s", "q3"]  # nothing is known but the plan's own shape
    assert watch.order[4:] == ["s", "q2", "q1", "q3"]


@st.composite
def _plans(draw: st.DrawFn) -> tuple[list[Json], dict[str, float]]:
    seconds = {f"t{n}": draw(st.integers(1, 50)) / 10 for n in range(4)}
    steps = [
        _work(
            f"s{n}", draw(st.sampled_from(list(seconds))), *draw(st.sets(st.sampled_from(names), max_size=2))
        )
        if (names := [f"s{m}" for m in range(n)])
        else _work(f"s{n}", draw(st.sampled_from(list(seconds))))
        for n in range(draw(st.integers(1, 9)))
    ]
    return steps, seconds


@settings(max_examples=20)
@given(_plans())
def test_with_one_place_every_start_is_of_the_longest_rest_that_waits(
    given_: tuple[list[Json], dict[str, float]],
) -> None:
    """What a step's end makes ready waits from when its result is written: for the next place but one."""
    steps, seconds = given_
    clock = Clock()
    watch = Stopwatch(clock, **seconds)
    house = House(Path(), watch.tools(), clock, {"max_concurrency": 1})
    store = InMemoryStore()
    graph = house.graph(InMemorySaver(), store)

    async def go() -> None:
        await add_durations(store, {f"tool {name}": [taken] for name, taken in seconds.items()})
        await graph.ainvoke(wish(*steps), thread())

    asyncio.run(go())

    plan = Plan.from_json({"goal": "g", "steps": steps})
    rest = longest_remaining(plan, expected_seconds(plan, {f"tool {n}": s for n, s in seconds.items()}))
    ready = {s.id for s in plan.steps if not s.depends_on}
    late: set[str] = set()
    for name in watch.order:
        candidates = ready or late
        assert rest[name] == max(rest[each] for each in candidates)
        ready, late = (ready | late) - {name}, set()
        ended = set(watch.order[: watch.order.index(name) + 1])
        late = {
            s.id
            for s in plan.steps
            if s.id not in ended | ready and name in s.depends_on and set(s.depends_on) <= ended
        }


async def test_a_mean_is_kept_with_the_runs_and_follows_what_changes(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        await add_durations(opened.store, {"tool a": [1.0, 3.0], "llm": [5.0], "none": []})
    with open_store(tmp_path / "runs.db") as opened:
        assert await mean_durations(opened.store, ["tool a", "llm", "none", "tool b"]) == {
            "tool a": 2.0,
            "llm": 5.0,
        }
        await add_durations(opened.store, {"tool a": [8.0]})
        assert (await mean_durations(opened.store, ["tool a"]))["tool a"] == 4.0
        await add_durations(opened.store, {"tool a": [0.0] * 10_000})
        for _ in range(3):
            await add_durations(opened.store, {"tool a": [100.0] * REMEMBERED})
        assert (await mean_durations(opened.store, ["tool a"]))["tool a"] > 80


def test_only_what_ended_at_once_by_a_call_of_its_own_tells_how_long_it_takes() -> None:
    plan = Plan.from_json(
        {
            "plan_id": "p",
            "goal": "g",
            "steps": [
                {"id": "a", "action": "tool", "tool": "t"},
                {"id": "b", "action": "llm", "instruction": "i"},
                {"id": "m", "action": "map", "over": [1], "step": {"action": "tool", "tool": "t"}},
            ],
        }
    )

    def entry(step_id: str, **more: Any) -> StepEntry:
        base: Json = {
            "run_id": "r", "plan_id": "p", "revision": 1, "step_id": step_id, "action": "tool", "attempts": 1,
            "status": StepStatus.SUCCEEDED, "started_at": NOON, "ended_at": NOON.replace(second=7),
        }  # fmt: skip
        return StepEntry(**{**base, **more})

    whole = {"a": entry("a", tool="t"), "b": entry("b", action="llm"), "m": entry("m", action="map")}
    item = {"m#0": entry("m", item=0, tool="t")}
    assert seconds_taken(plan, whole | item) == {"tool t": [7.0, 7.0], "llm": [7.0], "map tool t": [7.0]}
    for odd in ({"attempts": 2}, {"attempts": 0}, {"age": 1.0}, {"fallback_tool": "u"}, {"status": "failed"}):
        assert seconds_taken(plan, {"a": entry("a", tool="t", **odd)}) == {}
    assert [kind_of(each) for each in plan.steps] == ["tool t", "llm", "map tool t"]
    assert expected_seconds(plan, {"tool t": 9.0}) == {"a": 9.0, "b": 5.0, "m": 5.0}
