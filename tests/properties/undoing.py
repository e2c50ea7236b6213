"""What becomes of a run that is given up, in the words of the reference model: it is undone."""

from collections.abc import Collection, Mapping
from typing import Any

from tests.properties.reference import Reference
from tests.properties.results import NoSuchField, given_by, shaped
from tests.properties.specs import Spec


def undo(model: Reference, items_done: Mapping[str, Collection[int]], gave: Mapping[str, Any]) -> None:
    """Undo what an ended run did, unless it succeeded.

    Args:
        model: What did it.
        items_done: The items of each map that are done; how far a failed map came is not told ahead.
        gave: What each step gave, also those that failed.
    """
    if model.run_status != "succeeded":
        for spec in list(model.specs.values()):
            _undo(model, spec, items_done.get(spec.id, ()), gave.get(spec.id))


def _undo(model: Reference, spec: Spec, items_done: Collection[int], gave: Any) -> None:
    """Undo what the step itself did; what its own write gave is forgotten once its fallback is next."""
    undo_id, over = f"{spec.id}@undo", spec.id in model.gone_over
    items = [each for at, each in enumerate(spec.items) if at in items_done and not each.behaviour.fails]
    if spec.undo is None:
        undos = [each.undo for each in items if each.undo is not None]
        if undos:
            model.statuses[undo_id] = _undo_items(model, spec, undos, undo_id)
    elif spec.id in model.wrote:
        made = None if over else given_by(spec, model.effects[spec.id])
        model.statuses[undo_id] = _undo_one(model, spec.undo, made, undo_id)
    elif model.statuses[spec.id] != "succeeded" and items and not over:
        model.statuses[undo_id] = _undo_one(model, spec.undo, gave, undo_id, known=True)
    elif model.statuses[spec.id] == "succeeded" and not over:
        model.statuses[undo_id] = _undo_one(model, spec.undo, model.outputs[spec.id], undo_id, known=True)


def _undo_one(model: Reference, undo: Spec, made: Any, undo_id: str, *, known: bool = False) -> str:
    try:
        if undo.refers_to is not None and made is None and not known:
            return "failed"
        value = undo.literal if undo.refers_to is None else shaped(undo.form, made)
    except NoSuchField:
        return "failed"
    if undo.behaviour.fails:
        return "failed"
    if undo.kind.writes:
        model.effects[undo.id] = value
    model.outputs[undo_id] = given_by(undo, value)
    return "succeeded"


def _undo_items(model: Reference, spec: Spec, undos: list[Spec], undo_id: str) -> str:
    value = model.value_of(spec)
    ok = [each for each in undos if not each.behaviour.fails]
    model.effects |= {each.id: value for each in ok if each.kind.writes}
    if ok != undos:
        return "failed"
    model.outputs[undo_id] = {"results": [given_by(each, value) for each in undos], "failures": []}
    return "succeeded"
