"""Undoing what a run did that is given up: as steps of another revision, which run like any others."""

from typing import Any

from graph.plan import (
    JSON,
    Done,
    MapStep,
    Plan,
    RunStatus,
    Step,
    undo_revision,
    undoes_items,
    undoing,
)
from graph.state import GraphState
from nodes.decide.outcome import cancel_rest, final_status
from nodes.decide.premises import deviations
from nodes.lanes.map_calls import listed
from nodes.lanes.work import work_of
from nodes.revisions import adopt
from nodes.session import RunSession


def steps_to_undo(session: RunSession, stopped_by: str | None) -> tuple[str, ...]:
    """What a run that would end now leaves to be undone, in the order in which it was done.

    Nothing when it would succeed, or when the setting does not ask for it.
    """
    board = session.require_board()
    plan = board.plan
    if not session.settings.compensate or not any(undoing(step) for step in plan.steps):
        return ()
    statuses = cancel_rest(plan, board.statuses, board.entries)
    broken = bool(deviations(plan, board.entries))
    if final_status(plan, statuses, stopped_by=stopped_by, broken=broken) is RunStatus.SUCCEEDED:
        return ()
    done = [step.id for step in plan.steps if _is_done(session, step)]
    return tuple(sorted(done, key=lambda step_id: str(board.entries[step_id].ended_at or "")))


async def compensate(session: RunSession, state: GraphState) -> dict[str, Any]:
    """Make the revision that undoes the steps of the dispatch, and go on with it."""
    plan = session.require_board().plan
    written = (await session.load()).plans.get(plan.revision + 1)
    if written is not None:  # the process ended between the plan and the checkpoint
        return await adopt(session, state, Plan.from_json(written))
    done = [await _done(session, plan.step(step_id)) for step_id in state["dispatch"]["steps"]]
    revised = undo_revision(plan, done)
    await session.journal.put_plan(revised.revision, revised.to_json())
    return await adopt(session, state, revised)


def _is_done(session: RunSession, step: Step) -> bool:
    """Whether the step did something that its compensation undoes: all of it, or some items of a map."""
    entries = session.require_board().entries
    if undoing(step) is None or step.id not in entries:
        return False
    if undoes_items(step):
        return any(e.status.ok for e in entries.values() if e.step_id == step.id and e.item is not None)
    # A write was made although its step failed, where what it gave was not what was expected.
    return entries[step.id].status.ok or entries[step.id].wrote


async def _done(session: RunSession, step: Step) -> Done:
    entry = session.require_board().entries[step.id]
    if isinstance(step, MapStep) and undoes_items(step):
        return Done(step.id, items=tuple(await _items_done(session, step)))
    value = None if entry.status.ok else await session.journal.output(entry)
    return Done(step.id, has_result=entry.status.ok, value=value)


async def _items_done(session: RunSession, step: MapStep) -> list[JSON]:
    """What is known of each item that was done; the board holds their entries without their results."""
    items = await listed(session, work_of(session, step))
    entries = (await session.journal.load()).steps.values()
    done = [(e.item, e) for e in entries if e.step_id == step.id and e.item is not None and e.status.ok]
    return [
        {"index": at, "item": items[at], "result": await session.journal.output(entry)}
        for at, entry in sorted(done, key=lambda each: each[0])
        if isinstance(items, list) and at < len(items)
    ]
