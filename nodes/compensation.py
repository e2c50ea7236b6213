"""Undoing what a run did that is given up: as steps of another revision, which run like any others."""

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from checkpoints import StepEntry
from graph.plan import (
    JSON,
    Done,
    MapStep,
    Plan,
    ReferenceFailure,
    RunStatus,
    Step,
    ancestors,
    can_be_named,
    resolve,
    undo_revision,
    undoes_items,
    undoing,
)
from graph.plan.expressions import INDEX, ITEM, RESULT
from graph.plan.tokens import escaped
from graph.state import GraphState
from nodes.decide.map_items import items_of
from nodes.decide.outcome import cancel_rest, final_status
from nodes.decide.premises import deviations
from nodes.lanes.arguments import scope_of
from nodes.lanes.map_calls import listed
from nodes.lanes.map_left import output_so_far
from nodes.lanes.work import Work
from nodes.revisions import adopt
from nodes.session import RunSession


async def steps_to_undo(session: RunSession, stopped_by: str | None) -> tuple[str, ...]:
    """What a run that would end now leaves to be undone, in the order in which it was done.

    Nothing when it would succeed, or when the setting does not ask for it. What a step did that was replaced
    since goes by the id that its record has since, `ID@rREVISION`.
    """
    board = session.require_board()
    plan = board.plan
    if not session.settings.compensate:
        return ()
    statuses = cancel_rest(plan, board.statuses, board.entries)
    broken = bool(deviations(plan, board.entries))
    if final_status(plan, statuses, stopped_by=stopped_by, broken=broken) is RunStatus.SUCCEEDED:
        return ()
    replaced = await _replaced(session)
    own = [step.id for step in plan.steps if _own_writes(session, step)]
    aside = [step.id for step in replaced if _own_writes(session, step, _taken_over(session, step, replaced))]
    return tuple(sorted([*own, *aside], key=lambda step_id: _when_done(session, step_id)))


def _taken_over(session: RunSession, step: Step, replaced: Sequence[Step]) -> frozenset[str]:
    """Keys of writes that maps of later revisions have taken over: those are undone as these maps' are."""
    plan = session.require_board().plan
    if step.id in session.require_board().shape.steps:
        return frozenset()
    later = [*plan.steps, *(each for each in replaced if _revision_of(each.id) > _revision_of(step.id))]
    return frozenset(
        e.idempotency_key for each in later for e in _own_writes(session, each) if e.idempotency_key
    )


def _revision_of(record: str) -> int:
    return int(record.rpartition("@r")[2])


async def _replaced(session: RunSession) -> list[Step]:
    """Steps of earlier revisions that did something before they were replaced, by their records' ids."""
    board, plans = session.require_board(), (await session.load()).plans
    aside = {
        e.of_step for e in board.entries.values() if e.of_step not in board.shape.steps and _did_own_work(e)
    }
    found = []
    for record in sorted(aside):
        step_id, _, revision = record.rpartition("@r")
        written = plans.get(int(revision)) if revision.isdigit() else None
        step = next((s for s in Plan.from_json(written).steps if s.id == step_id), None) if written else None
        found += [] if step is None else [step.model_copy(update={"id": record})]
    return found


def _when_done(session: RunSession, step_id: str) -> tuple[str, int]:
    """What steps are sorted by: none comes before one that it depends on, even if the clock was set back."""
    board = session.require_board()
    if step_id not in board.shape.steps:
        aside = [e for e in board.entries.values() if e.of_step == step_id]
        return max(str(entry.ended_at or "") for entry in aside), 0
    before = ancestors(board.plan, step_id)
    entries = [board.entries[each] for each in (step_id, *before) if each in board.entries]
    return max(str(entry.ended_at or "") for entry in entries), len(before)


async def compensate(session: RunSession, state: GraphState) -> dict[str, Any]:
    """Make the revision that undoes the steps of the dispatch, and go on with it."""
    plan = session.require_board().plan
    written = (await session.load()).plans.get(plan.revision + 1)
    if written is not None:  # the process ended between the plan and the checkpoint
        return await adopt(session, state, Plan.from_json(written))
    replaced = await _replaced(session)
    steps = {step.id: step for step in [*plan.steps, *replaced]}
    todo = [steps[step_id] for step_id in state["dispatch"]["steps"]]
    done = [await _done(session, step, _taken_over(session, step, replaced)) for step in todo]
    revised = undo_revision(plan, done)
    await session.journal.put_plan(revised.revision, revised.to_json())
    return await adopt(session, state, revised)


def _own_writes(session: RunSession, step: Step, taken_over: Set[str] = frozenset()) -> list[StepEntry]:
    """Records of what the step did that its compensation undoes: all of it, or some items of a map."""
    entries = session.require_board().entries
    if undoing(step) is None:
        return []
    own = entries.get(step.id)
    items = items_of(step.id, entries.values()) if isinstance(step, MapStep) else []
    items_done = [item for item in items if _did_own_work(item)]
    if undoes_items(step):
        done = items_done
    else:
        came_so_far = bool(items_done) and own is not None and own.fallback is None
        done = [own] if own is not None and (_did_own_work(own) or came_so_far) else []
    return [entry for entry in done if entry.idempotency_key not in taken_over]


def _did_own_work(entry: StepEntry) -> bool:
    """Whether the step itself did what its compensation undoes; another tool in its place did not.

    A write was made although its step failed, where what it gave was not what was expected.
    """
    if entry.fallback is not None:
        return entry.done_before_fallback is not None
    return (entry.status.ok and entry.fallback_tool is None) or entry.wrote


async def _done(session: RunSession, step: Step, taken_over: Set[str]) -> Done:
    board = session.require_board()
    if isinstance(step, MapStep) and undoes_items(step):
        return Done(step, items=tuple(await _items_done(session, step, taken_over)))
    entry = board.entries[step.id]
    if step.id in board.shape.steps and entry.status.ok and entry.fallback is None and can_be_named(step.id):
        return Done(step)
    return Done(step, args=await _args(session, step, entry))


async def _args(session: RunSession, step: Step, entry: StepEntry) -> dict[str, JSON]:
    """The arguments of the call that undoes a step, with what it gave in them.

    What its own write gave is not known any more once its fallback has taken over.
    """
    call = undoing(step)
    assert call is not None
    so_far = await output_so_far(session, step, entry) if isinstance(step, MapStep) else None
    known = {RESULT: so_far or await session.journal.output(entry)} if entry.fallback is None else {}
    scope = replace(await scope_of(session, Work(step, entry)), local_values=known)
    args: dict[str, JSON] = {}
    for name, value in session.engine.registry[call.tool].decode_args(call.args).items():
        try:
            args[name] = escaped(resolve(value, scope))
        except ReferenceFailure:
            args[name] = value  # the step will say why it cannot run
    return args


async def _items_done(session: RunSession, step: MapStep, taken_over: Set[str]) -> list[JSON]:
    """What is known of each item that was done, the last one first.

    The board holds their entries without their results. The map is taken, also where its fallback took over.
    """
    own = Work(step, session.require_board().entries.get(step.id))
    items = await listed(session, own)
    entries = items_of(step.id, (await session.journal.load()).steps.values())
    entries.sort(key=_item_done_at, reverse=True)
    return [
        await _item_done(session, items[entry.item], entry)
        for entry in entries
        if isinstance(items, list) and entry.item is not None and entry.item < len(items)
        if _did_own_work(entry) and entry.idempotency_key not in taken_over
    ]


def _item_done_at(entry: StepEntry) -> tuple[str, int]:
    """What items are sorted by: when their own work was done, in the order of the list at one moment."""
    done = entry.done_before_fallback
    at = done.get("at") if done is not None else entry.ended_at and entry.ended_at.isoformat()
    return str(at or ""), entry.item or 0


async def _item_done(session: RunSession, item: JSON, entry: StepEntry) -> JSON:
    """What is known of an item; without the result of a write that its fallback has followed."""
    known = {RESULT: await session.journal.output(entry)} if entry.fallback is None else {}
    return {ITEM: item, INDEX: entry.item, **known}
