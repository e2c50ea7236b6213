"""What the nodes tell the state and the journal about the run as a whole."""

from collections.abc import Mapping
from typing import Any

from checkpoints import RunEntry, StepEntry
from graph.plan import Plan, RunStatus, StepStatus
from graph.state import GraphState, build_document, hidden_args
from nodes.books import usage_of
from nodes.lanes.board import Board
from nodes.lanes.results import blank_entry
from nodes.session import RunSession

NOT_RUN = frozenset({StepStatus.SKIPPED, StepStatus.CANCELLED, StepStatus.NOT_TAKEN})
NO_BRANCH = "no branch that it waits for was taken"


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


def closed_entries(session: RunSession, statuses: Mapping[str, StepStatus]) -> list[StepEntry]:
    """Entries, put on the board too, of the steps that did not run and whose entry does not say so yet."""
    board = session.require_board()
    closed = []
    for step_id, status in statuses.items():
        prior = board.entries.get(step_id)
        if status in NOT_RUN and (prior is None or prior.status is not status):
            entry = blank_entry(session.run_id, board.plan, board.step(step_id), prior)
        elif prior is not None and prior.status is StepStatus.RUNNING and status is not StepStatus.PENDING:
            entry = prior
        else:
            continue
        note = {"note": NO_BRANCH} if status is StepStatus.NOT_TAKEN else {}
        board.entries[step_id] = entry.model_copy(update={"status": status, **note})
        closed.append(board.entries[step_id])
    return closed + _calls_in_doubt(board, statuses)


def _calls_in_doubt(board: Board, statuses: Mapping[str, StepStatus]) -> list[StepEntry]:
    """Writes of agents and of maps that a killed process had begun, and that nobody will look at any more."""
    begun = {
        key: entry
        for key, entry in board.entries.items()
        if entry.item is not None and entry.effect == "write" and entry.status is StepStatus.RUNNING
    }
    doubtful = {
        key: entry.model_copy(update={"status": StepStatus.UNKNOWN})
        for key, entry in begun.items()
        if statuses.get(entry.of_step) is StepStatus.UNKNOWN
    }
    board.entries.update(doubtful)
    return list(doubtful.values())


async def put_run(session: RunSession, state: GraphState, plan: Plan | None, **changes: Any) -> RunEntry:
    """Write the run's own entry: who looks from another process sees this."""
    run = session.run or await session.load_run()
    now = session.engine.now()
    session.run = run.model_copy(
        update={
            "goal": state.get("goal") or run.goal,
            "plan_id": plan.plan_id if plan else run.plan_id,
            "revision": plan.revision if plan else run.revision,
            "hidden": hidden_args(plan, session.engine.registry) if plan else run.hidden,
            "settings": dict(session.invocation.overrides),
            "usage": usage_of(session.require_ledger()),
            "replans": state.get("replans") or 0,
            "updated_at": now,
            **changes,
        }
    )
    # That a run goes on is news for whoever looks; only how it waits or ended must outlive a power cut.
    await session.journal.put_run(session.run, synced=session.run.status is not RunStatus.RUNNING)
    return session.run


async def document(session: RunSession, run: RunEntry, plan: Plan | None) -> dict[str, Any]:
    """The output channels: the run's document with every result loaded, and the plan as it runs.

    What leaves the graph shows the plan without secret arguments; the nodes need them.
    """
    board = session.board
    whole = run.model_copy(update={"hidden": {}})
    written = session.json_of(plan) if plan is not None else None
    if board is None or plan is None:
        return build_document(whole, plan, {}, {}, written=written)
    outputs = {s.id: await session.output_of(s.id) for s in plan.steps if board.statuses[s.id].ok}
    return build_document(whole, plan, board.entries, outputs, written=written)


RUNNING: dict[str, Any] = {"status": RunStatus.RUNNING, "pending": [], "success": None}
