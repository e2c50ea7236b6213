"""What the nodes tell the state and the journal about the run as a whole."""

from typing import Any

from checkpoints import RunEntry
from graph.plan import Plan, RunStatus, StepStatus
from graph.state import GraphState, build_document
from nodes.books import usage_of
from nodes.lanes.board import Board
from nodes.session import RunSession


def step_states(board: Board, statuses: dict[str, StepStatus]) -> dict[str, dict[str, Any]]:
    """The `records` channel's update for steps whose status changed: small, whatever their results."""
    records = {}
    for step_id, status in statuses.items():
        entry = board.entries.get(step_id)
        records[step_id] = {
            "status": status.value,
            "revision": entry.revision if entry else board.plan.revision,
            "attempts": entry.attempts if entry else 0,
        }
    return records


async def put_run(session: RunSession, state: GraphState, plan: Plan | None, **changes: Any) -> RunEntry:
    """Write the run's own entry: who looks from another process sees this."""
    run = session.run or await session.load_run()
    now = session.engine.now()
    session.run = run.model_copy(
        update={
            "goal": state.get("goal") or run.goal,
            "plan_id": plan.plan_id if plan else run.plan_id,
            "revision": plan.revision if plan else run.revision,
            "usage": usage_of(session.require_ledger()),
            "replans": state.get("replans") or 0,
            "updated_at": now,
            **changes,
        }
    )
    await session.journal.put_run(session.run)
    return session.run


async def document(session: RunSession, run: RunEntry, plan: Plan | None) -> dict[str, Any]:
    """The output channels: the run's document with every result loaded."""
    board = session.board
    if board is None or plan is None:
        return build_document(run, plan, {}, {})
    outputs = {s.id: await session.output_of(s.id) for s in plan.steps if board.statuses[s.id].ok}
    return build_document(run, plan, board.entries, outputs)


RUNNING: dict[str, Any] = {"status": RunStatus.RUNNING, "pending": [], "success": None}
