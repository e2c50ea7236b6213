"""A serial reference for random plans: what becomes of each step, said once more in the plainest way.

It knows nothing of lanes, journals or time: it goes through the steps in order, one after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ATTEMPTS = 3
LOST = frozenset({"failed", "skipped"})


@dataclass(frozen=True)
class Work:
    """One call: `fail` is empty, hard, or soft; a soft one fails so many `times` before it succeeds."""

    writes: bool
    base: int
    fail: str = ""
    times: int = 0

    @property
    def succeeds(self) -> bool:
        return not self.fail or (self.fail == "soft" and self.times < ATTEMPTS)


@dataclass(frozen=True)
class Node:
    """One step of a random plan: a call, a map where it has `items`, a part where it has `parts`."""

    name: str
    work: Work
    deps: tuple[str, ...] = ()
    when: tuple[str, int] | None = None
    expect: int | None = None
    fallback: Work | None = None
    policy: str = "abort"
    optional: bool = False
    asks: bool = False
    items: tuple[int, ...] | None = None
    bad: int = 0
    skipped_index: int | None = None
    min_success: float | None = None
    parts: "tuple[Node, ...] | None" = None


@dataclass
class Outcome:
    """What must come of a plan; `maybe` holds effects that may or may not have happened."""

    statuses: dict[str, frozenset[str]] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    effects: list[str] = field(default_factory=list)
    maybe: list[str] = field(default_factory=list)

    def is_(self, name: str, *wanted: str) -> bool:
        return bool(self.statuses[name] & set(wanted))


def weight(value: Any) -> int:
    """What a result counts in the next step's sum; null and what is not there count nothing."""
    if isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        inside = value["results"] if "results" in value else value.values()
        return sum(weight(each) for each in inside)
    return 0


def reference(nodes: Sequence[Node]) -> Outcome:
    """Go through the steps in order."""
    outcome = Outcome()
    for node in nodes:
        status = _standing(node, outcome) or _condition(node, outcome)
        outcome.statuses[node.name] = status or _carried_out(node, outcome)
    return outcome


def _standing(node: Node, outcome: Outcome) -> frozenset[str] | None:
    """What the dependencies alone decide; None where the step may go on."""
    before = [outcome.statuses[name] for name in node.deps]
    if before and all(each == {"not_taken"} for each in before):
        return frozenset({"not_taken"})
    lost = any(each & LOST for each in before)
    if lost and node.policy == "skip":
        return frozenset({"skipped"})
    if any("cancelled" in each for each in before):
        return frozenset({"cancelled"})
    return frozenset({"cancelled"}) if lost and node.policy == "abort" else None


def _condition(node: Node, outcome: Outcome) -> frozenset[str] | None:
    if node.when is None:
        return None
    name, remainder = node.when
    value = outcome.outputs.get(name)
    return None if value is not None and value % 2 == remainder else frozenset({"not_taken"})


def _carried_out(node: Node, outcome: Outcome) -> frozenset[str]:
    if node.items is not None:
        return _mapped(node, outcome)
    if node.parts is not None:
        return _parted(node, outcome)
    around = sum(weight(outcome.outputs.get(name)) for name in node.deps)
    value = _called(node.name, node.work, around, node.expect, outcome.effects)
    if value is None and node.fallback is not None:
        value = _called(f"{node.name}-fb", node.fallback, around, None, outcome.effects)
    if value is None:
        return frozenset({"failed"})
    outcome.outputs[node.name] = value
    return frozenset({"succeeded"})


def _called(name: str, work: Work, around: int, expect: int | None, effects: list[str]) -> int | None:
    if not work.succeeds:
        return None
    if work.writes:
        effects.append(name)
    value = work.base + around
    return value if expect is None or value >= expect else None


def _mapped(node: Node, outcome: Outcome) -> frozenset[str]:
    results: list[int | None] = []
    failures: list[int] = []
    effects: list[str] = []
    for index, item in enumerate(node.items or ()):
        value = None
        if index != node.skipped_index:
            work = Work(node.work.writes, item, "hard" if node.bad and item % node.bad == 0 else "")
            value = _called(f"{node.name}-{index}", work, 0, None, effects)
            if value is None and node.fallback is not None:
                value = _called(f"{node.name}-{index}-fb", node.fallback, 0, None, effects)
            if value is None:
                failures.append(index)
        results.append(value)
    done = sum(value is not None for value in results)
    taken = done + len(failures)
    needed = node.min_success
    enough = taken if needed is None else needed * taken if isinstance(needed, float) else needed
    if done < enough:
        outcome.maybe += effects  # once it cannot succeed any more, the rest need not be done
        return frozenset({"failed"})
    outcome.effects += effects
    outcome.outputs[node.name] = {"results": results, "failures": failures}
    return frozenset({"succeeded"})


def _parted(node: Node, outcome: Outcome) -> frozenset[str]:
    inside = reference(node.parts or ())
    for part in node.parts or ():
        outcome.statuses[f"{node.name}.{part.name}"] = inside.statuses[part.name]
    outcome.effects += inside.effects
    needed = {name for part in node.parts or () for name in part.deps}
    last = {part.name: inside.outputs.get(part.name) for part in node.parts or () if part.name not in needed}
    outcome.outputs[node.name] = next(iter(last.values())) if len(last) == 1 else last
    return frozenset({"succeeded"})
