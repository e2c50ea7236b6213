"""What has happened, as a new revision is held against it: results, calls that failed, effects."""

from collections.abc import Iterable
from typing import Any

from graph.plan import History, ReferenceFailure, StepStatus, ToolStep, call_digest
from nodes.lanes.arguments import call_digests
from nodes.lanes.work import work_of
from nodes.session import RunSession


async def history_of(session: RunSession, failed_calls: Iterable[str]) -> History:
    """What a new plan is held against; `failed_calls` are those of the revisions before this one."""
    board = session.require_board()
    completed: dict[str, Any] = {}
    failed = set(failed_calls)
    done: set[str] = set()
    for step in board.plan.steps:
        status = board.statuses[step.id]
        if status.ok:
            completed[step.id] = await session.output_of(step.id)
        if not isinstance(step, ToolStep) or status not in (StepStatus.SUCCEEDED, StepStatus.FAILED):
            continue
        try:
            digests = await call_digests(session, work_of(session, step))
        except ReferenceFailure:
            continue
        (done if status.ok else failed).update(digests)
    for entry in board.entries.values():
        inner = entry.item is not None and entry.effect == "write" and entry.status.ok
        if inner and entry.tool is not None and isinstance(entry.input, dict):
            done.add(call_digest(entry.tool, entry.input))
    return History(
        previous=board.plan, completed=completed, failed_calls=frozenset(failed), done_effects=frozenset(done)
    )
