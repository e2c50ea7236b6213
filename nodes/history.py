"""What has happened, as a new revision is held against it: results, calls that failed, effects."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from checkpoints import StepEntry
from graph.plan import (
    JSON,
    History,
    MapStep,
    ReferenceFailure,
    Step,
    StepStatus,
    ToolStep,
    fallback_step,
    untaken_digest,
)
from nodes.decide.map_items import items_of
from nodes.decide.written import digests_before_fallback, written_digests
from nodes.lanes.arguments import call_digests
from nodes.lanes.conditions import BAD_CONDITION
from nodes.lanes.map_calls import inner_of, item_work, listed
from nodes.lanes.results import Result
from nodes.lanes.work import Work, work_of
from nodes.session import RunSession


async def history_of(session: RunSession, failed_calls: Iterable[str]) -> History:
    """What a new plan is held against; `failed_calls` are those of the revisions before this one."""
    board = session.require_board()
    completed: dict[str, Any] = {}
    failed = set(failed_calls)
    done: set[str] = set()
    for step in board.plan.steps:
        if board.statuses[step.id].ok:
            completed[step.id] = await session.output_of(step.id)
        for work, happened in [*_calls(session, step), *await _items_calls(session, step)]:
            try:
                digests = await call_digests(session, work)
            except ReferenceFailure:
                continue
            when = _bad_condition(work)
            digests = digests if when is None else {untaken_digest(digest, when) for digest in digests}
            (done if happened else failed).update(digests)
    for entry in board.entries.values():
        if entry.item is not None or entry.step_id not in board.statuses:
            done |= written_digests(entry)
        done |= digests_before_fallback(entry)
    return History(
        previous=board.plan, completed=completed, failed_calls=frozenset(failed), done_effects=frozenset(done)
    )


def _bad_condition(work: Work) -> str | None:
    """The condition for which the call was never made, as it could not be told whether it holds."""
    error = None if work.entry is None or work.entry.taken else work.entry.error
    return work.step.when if error is not None and error.code == BAD_CONDITION else None


def _calls(session: RunSession, step: Step) -> Iterator[tuple[Work, bool]]:
    """The calls that a step came to, its own and its fallback's, each with whether it did its work."""
    board = session.require_board()
    entry, status = board.entries.get(step.id), board.statuses[step.id]
    if entry is not None and entry.fallback is not None and isinstance(step, ToolStep):
        own = entry.model_copy(update={"fallback": None})
        yield Work(step, own), entry.done_before_fallback is not None
    work = work_of(session, step)
    if isinstance(work.step, ToolStep) and status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
        yield work, status.ok or (entry is not None and entry.wrote)


async def _items_calls(session: RunSession, step: Step) -> list[tuple[Work, bool]]:
    """The calls of a map's items that failed, each with whether it was a write that happened all the same."""
    entries = session.require_board().entries
    ended = items_of(step.id, entries.values()) if isinstance(step, MapStep) else []
    lost = [entry for entry in ended if entry.status is StepStatus.FAILED or entry.fallback is not None]
    of_map = Work(step, entries.get(step.id))
    items = await listed(session, of_map) if lost else []
    if isinstance(items, Result):
        return []
    return [call for entry in lost for call in _item_calls(session, of_map, items, entry)]


def _item_calls(
    session: RunSession, of_map: Work, items: Sequence[JSON], entry: StepEntry
) -> Iterator[tuple[Work, bool]]:
    at = entry.item or 0
    if at >= len(items):
        return
    work = item_work(session, of_map, inner_of(of_map), items, at)
    other = fallback_step(work.step) if entry.fallback is not None else None
    if isinstance(work.step, ToolStep):
        yield work, entry.wrote if entry.fallback is None else entry.done_before_fallback is not None
    if other is not None and entry.status is StepStatus.FAILED:
        yield replace(work, step=other), entry.wrote
