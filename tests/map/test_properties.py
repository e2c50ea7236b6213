"""Random maps against a serial model: whatever fails, and wherever processes end, each item ends once."""

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.decide.map_items import Tally, enough
from tests.properties.drawing import BEHAVIOURS, READS
from tests.properties.durable import Memory
from tests.properties.harness import NO_FAULT, Fault, Harness
from tests.properties.specs import Behaviour, Form, Kind, Spec
from tests.properties.test_runs import FAULTS, QUIET

_FALLBACKS = (Behaviour.OK, Behaviour.SOFT, Behaviour.HARD)
KINDS = (Kind.LOOK, Kind.LOOK_CAPPED, Kind.PUT, Kind.PUT_ONCE)


class Item(Spec):
    """One item of a map, or its fallback."""

    @property
    def literal(self) -> Any:
        """Its place in the list."""
        return int(self.id.rpartition("#")[2].removesuffix("f"))


@dataclass(frozen=True)
class RandomMap:
    """One map. Each item has its own behaviour, and its own fallback's where there is one."""

    id: str
    kind: Kind
    items: tuple[Spec, ...]
    taken: tuple[bool, ...]
    min_success: float | None
    asks: bool

    def to_json(self) -> dict[str, Any]:
        over = [
            {"step": item.id, "value": at, "take": take, "else": f"{item.id}f"}
            for at, (item, take) in enumerate(zip(self.items, self.taken, strict=True))
        ]
        step: dict[str, Any] = {
            "action": "tool",
            "tool": self.kind.value,
            "args": {"step": "${item.step}", "value": "${item.value}"},
            "when": "item.take",
        }
        if self.items and self.items[0].fallback is not None:
            args = {"step": "${item['else']}", "value": "${item.value}"}
            step["fallback"] = {"tool": self.items[0].fallback.kind.value, "args": args}
        more = {"min_success": self.min_success, "require_approval": self.asks}
        return {"id": self.id, "action": "map", "over": over, "step": step, **more}

    def expected(self) -> list[Any]:
        """What each item gives: its result, None when it is not taken, and Ellipsis when it fails."""
        return [
            self._gives(at, item) if take else None
            for at, (item, take) in enumerate(zip(self.items, self.taken, strict=True))
        ]

    def _gives(self, at: int, item: Spec) -> Any:
        for spec in (item, item.fallback):
            if spec is not None and not spec.behaviour.fails:
                return {"step": spec.id, "value": at}
        return ...

    @property
    def succeeds(self) -> bool:
        found = self.expected()
        failed, not_taken = found.count(...), found.count(None)
        return enough(self.min_success, Tally(len(found), len(found) - failed - not_taken, failed, not_taken))


def _spec(draw: st.DrawFn, name: str, kind: Kind, behaviours: tuple[Behaviour, ...], **more: Any) -> Item:
    return Item(
        id=name,
        kind=kind,
        depends_on=(),
        policy="abort",
        optional=False,
        refers_to=None,
        form=Form.WHOLE,
        behaviour=draw(st.sampled_from(behaviours)),
        failures=draw(st.integers(1, 2)),
        pace=draw(st.integers(0, 3)),
        session="a",
        answer=None,
        **more,
    )


@st.composite
def maps(draw: st.DrawFn, *, most: int) -> tuple[RandomMap, ...]:
    """One map or two side by side."""
    found = []
    for name in ("m", "n")[: draw(st.integers(1, 2))]:
        kind = draw(st.sampled_from(KINDS))
        other = draw(st.sampled_from([None, Kind.LOOK, Kind.PUT]))
        behaviours = BEHAVIOURS.get(kind, READS)
        if kind is Kind.PUT and other is Kind.PUT:
            # After a kill nobody knows what became of a write under a key: another then need not follow it.
            behaviours = tuple(each for each in behaviours if each is not Behaviour.NEVER)
        items = []
        for at in range(draw(st.integers(0, most))):
            item = f"{name}#{at}"
            fallback = (
                _spec(draw, f"{item}f", other, (Behaviour.OK, Behaviour.SOFT, Behaviour.HARD))
                if other
                else None
            )
            items.append(_spec(draw, item, kind, behaviours, fallback=fallback))
        taken = tuple(draw(st.sampled_from([True, True, True, False])) for _ in items)
        wanted = draw(st.none() | st.integers(0, most) | st.sampled_from([0.2, 0.5, 0.7, 1.0]))
        asks = draw(st.sampled_from([False, False, True]))
        found.append(RandomMap(name, kind, tuple(items), taken, wanted, asks))
    return tuple(found)


async def _to_the_end(harness: Harness, faults: list[Fault]) -> None:
    """Resume after each interruption; a person approves each map before any of its calls, and is honest."""
    left = list(faults)

    def next_fault() -> Fault:
        return left.pop() if left else NO_FAULT

    ended = False
    for _ in range(200):
        if not await harness.come_to_rest(next_fault, ended=ended):
            return
        (step_id, question), *_ = sorted(harness.pending.items())
        if question["kind"] == "approval":
            assert not any(calls for name, calls in harness.world.calls.items() if name.startswith(step_id))
            answer = {"decision": "approve"}
        else:
            answer = _truth(harness, question)
        ended = await harness.answer({step_id: answer}, next_fault())
    raise AssertionError("it does not come to an end")


def _truth(harness: Harness, question: dict[str, Any]) -> dict[str, Any]:
    name = question["args"]["call"]["args"]["step"]
    assert name.removesuffix("f") == f"{question['step']}#{question['args']['item']}"
    if not harness.world.happened(name):
        return {"decision": "not_happened"}
    return {"decision": "happened", "result": {"step": name, "value": harness.world.effect_of(name)}}


def _agrees(harness: Harness, each: RandomMap) -> None:
    assert harness.document is not None
    row = next(row for row in harness.document["steps"] if row["id"] == each.id)
    wanted = each.expected()
    effects = {
        name: done for name, done in harness.world.effects.items() if done and name.startswith(each.id)
    }
    assert all(len(done) == 1 for done in effects.values())
    told = [e for e in harness.document["effects"] if e["step"] == each.id]
    assert len(told) == len(effects)
    assert {e["idempotency_key"] for e in told if e["tool"] == Kind.PUT} <= {
        key for done in effects.values() for key in done
    }
    assert row["status"] == ("succeeded" if each.succeeds else "failed"), row["error"]
    results = row["output"]["results"]
    failures = {failure["index"] for failure in row["output"]["failures"]}
    if each.succeeds:
        assert results == [None if value is ... else value for value in wanted]
        assert failures == {at for at, value in enumerate(wanted) if value is ...}
        assert row["items"]["not_taken"] == each.taken.count(False)
    else:
        assert row["error"]["code"] == "too_few_succeeded"
        assert all(result in (None, value) for result, value in zip(results, wanted, strict=True))
        assert all(wanted[at] is ... for at in failures)


def _drive(found: tuple[RandomMap, ...], faults: list[Fault], concurrency: int, scheduling: str) -> None:
    specs = tuple(item for each in found for item in each.items)
    harness = Harness(specs, Memory(), max_concurrency=concurrency, scheduling=scheduling)
    harness.plan = {"goal": "go over lists", "steps": [each.to_json() for each in found]}
    asyncio.run(_to_the_end(harness, faults))
    for each in found:
        _agrees(harness, each)
    assert not harness.world.broken
    assert harness.world.running.total() == 0


@settings(QUIET, max_examples=60)
@given(maps(most=12), st.integers(1, 4), st.sampled_from(["lanes", "layered"]))
def test_an_undisturbed_map_ends_as_a_serial_one(
    found: tuple[RandomMap, ...], concurrency: int, scheduling: str
) -> None:
    _drive(found, [], concurrency, scheduling)


@settings(QUIET, max_examples=100)
@given(maps(most=7), st.integers(1, 4), st.lists(FAULTS, max_size=6))
def test_a_map_that_is_interrupted_anywhere_ends_as_if_it_had_not_been(
    found: tuple[RandomMap, ...], concurrency: int, faults: list[Fault]
) -> None:
    _drive(found, faults, concurrency, "lanes")
