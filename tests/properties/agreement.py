"""What holds of a run that has ended, however it got there: the reference model's end, no rule broken."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tests.properties.reference import Reference
from tests.properties.specs import Kind

if TYPE_CHECKING:
    from tests.properties.harness import Harness

Json = dict[str, Any]


def agrees(harness: "Harness", reference: Reference) -> None:
    """The ended run against the reference model, and against what was seen of it outside."""
    document = harness.document
    assert document is not None
    told = {row["id"]: row["status"] for row in document["steps"]}
    assert told == reference.statuses
    outputs = {row["id"]: _in_order(row) for row in document["steps"] if row["status"] == "succeeded"}
    assert outputs == reference.outputs
    _same_effects(harness, reference, document)
    assert document["status"] == reference.run_status
    assert document["success"] is (reference.run_status == "succeeded")
    assert document["pending"] == []
    assert document["success"] or document["reason"]
    assert document["answer"] is not None or not reference.outputs
    assert document["replans"] == 0
    undone = [step_id for step_id in told if step_id.endswith("@undo")]
    assert document["plan"]["revision"] == 1 + len(reference.planned) + bool(undone)
    assert harness.world.running.total() == 0
    assert not harness.world.broken
    _undone_in_reverse(harness, document)


def _in_order(row: Json) -> Any:
    """What a step gave; items are undone in the order in which they happened to end."""
    if row["action"] == "map" and row["id"].endswith("@undo"):
        return {**row["output"], "results": sorted(row["output"]["results"], key=lambda each: each["step"])}
    return row["output"]


def _same_effects(harness: "Harness", reference: Reference, document: Json) -> None:
    world = harness.world
    effects = {name: next(iter(done.values())) for name, done in world.effects.items() if done}
    assert {name: effects.get(name) for name in reference.effects} == reference.effects
    possible = reference.effects | reference.possible
    assert {name: possible.get(name) for name in effects} == effects
    assert sorted(effect["args"]["step"] for effect in document["effects"]) == sorted(effects)
    for spec in world.specs.values():
        assert len(world.effects[spec.id]) <= 1
        if spec.kind is Kind.PUT and spec.id in effects:
            (told,) = (each for each in document["effects"] if each["args"]["step"] == spec.id)
            assert told["idempotency_key"] in world.effects[spec.id]


def _undone_in_reverse(harness: "Harness", document: Json) -> None:
    """One after the other, and each before what it was made from."""
    ended = {row["id"]: row["ended_at"] or "" for row in document["steps"]}
    needs = {step["id"]: step.get("depends_on", ()) for step in document["plan"]["steps"]}
    undos = {spec.undo.id: spec.id for spec in harness.specs.values() if spec.undo is not None}
    called = [undos[name].partition("#")[0] for name in harness.world.order if name in undos]
    order = [step_id for step_id, _ in groupby(called)]
    assert len(order) == len(set(order))
    before = {step_id: _ancestors(step_id, needs) for step_id in order}
    last = {step_id: max(ended[each] for each in {step_id} | before[step_id]) for step_id in order}
    assert [last[each] for each in order] == sorted(last.values(), reverse=True)
    for at, step_id in enumerate(order):
        assert not set(order[:at]) & before[step_id]


def _ancestors(step_id: str, needs: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    todo = [step_id]
    while todo:
        new = set(needs[todo.pop()]) - found
        found |= new
        todo += new
    return found
