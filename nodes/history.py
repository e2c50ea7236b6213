"""What has happened, as a new revision is held against it: results, calls that failed, effects."""

from collections.abc import Iterable, Iterator
from typing import Any

from checkpoints import StepEntry
from graph.plan import History, ReferenceFailure, Step, StepStatus, ToolStep, call_digest
from nodes.lanes.arguments import call_digests
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
        for work, happened in _calls(session, step):
            try:
                digests = await call_digests(session, work)
            except ReferenceFailure:
                continue
            (done if happened else failed).update(digests)
    for entry in board.entries.values():
        if (entry.item is not None or entry.step_id not in board.statuses) and entry.wrote:
            done |= _written(entry)
        done |= _written_before(entry)
    return History(
        previous=board.plan, completed=completed, failed_calls=frozenset(failed), done_effects=frozenset(done)
    )


def _calls(session: RunSession, step: Step) -> Iterator[tuple[Work, bool]]:
    """The calls that a step came to, its own and its fallback's, each with whether it did its work."""
    board = session.require_board()
    entry, status = board.entries.get(step.id), board.statuses[step.id]
    if entry is not None and entry.fallback is not None and isinstance(step, ToolStep):
        own = entry.model_copy(update={"fallback": None})
        yield Work(step, own), bool(entry.fallback.get("done"))
    work = work_of(session, step)
    if isinstance(work.step, ToolStep) and status in (StepStatus.SUCCEEDED, StepStatus.FAILED):
        yield work, status.ok or (entry is not None and entry.wrote)


def _written(entry: StepEntry) -> set[str]:
    """The digest of a write that is told by its entry alone."""
    tool = entry.fallback_tool or entry.tool
    return {call_digest(tool, entry.input)} if tool is not None and isinstance(entry.input, dict) else set()


def _written_before(entry: StepEntry) -> set[str]:
    """The digest of a write that a step's fallback followed."""
    done = entry.fallback.get("done") if entry.fallback else None
    digest = done.get("digest") if isinstance(done, dict) else None
    return {digest} if isinstance(digest, str) else set()
