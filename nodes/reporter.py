"""reporter: the answer, or an honest "not done, because"."""

import contextlib
from typing import Any

from langgraph.runtime import Runtime

from checkpoints import StoreError
from graph.plan import RunStatus, without_undo
from graph.state import GraphState, effects
from nodes.decide.outcome import (
    answer_of,
    cancel_rest,
    final_status,
    honest_answer,
    partly_done,
    reason_of,
    undone_of,
    with_stale,
)
from nodes.decide.premises import deviations
from nodes.lanes.map_left import entries_with_results
from nodes.lanes.rebuild import rebuild
from nodes.progress import closed_entries, document, put_run, step_states
from nodes.session import RunSession


async def reporter(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """End the run: settle what will not run any more, and say how it went."""
    session = RunSession.of(runtime)
    if state.get("plan") is None:
        session.emit({"type": "run_finished", "step": None, "message": state["status"]})
        return {}
    plan = session.plan_of(state["plan"])
    work = without_undo(plan)
    board = await rebuild(session, plan, state.get("decisions") or {})
    statuses = cancel_rest(plan, board.statuses, board.entries)
    closed = closed_entries(session, statuses)
    stored = await session.journal.commit(*closed, *await entries_with_results(session, statuses))
    board.entries.update((entry.key, entry) for entry in stored)
    board.statuses.update(statuses)
    outputs = {s.id: await session.output_of(s.id) for s in plan.steps if statuses[s.id].ok}
    status = final_status(
        work,
        statuses,
        stopped_by=state.get("stopped_by"),
        broken=bool(deviations(work, board.entries)),
        partly=partly_done(work, board.entries),
    )
    wanted = session.settings.compensate and status is not RunStatus.SUCCEEDED
    undone, not_undone = undone_of(plan, statuses, board.entries, wanted=wanted)
    reason = reason_of(work, statuses, board.entries, state.get("no_replan"))
    reason = "; ".join(filter(None, (reason, not_undone))) or None
    answer = with_stale(answer_of(work, statuses, outputs), work, board.entries)
    if status is not RunStatus.SUCCEEDED:
        answer = honest_answer(reason, answer, effects(board.entries), undone)
    run = await put_run(
        session,
        state,
        plan,
        status=status,
        success=status is RunStatus.SUCCEEDED,
        answer=answer,
        reason=reason,
        pending=[],
    )
    with contextlib.suppress(StoreError):  # the run has ended all the same
        await session.keep_durations()
        await session.results.clean_up(session.engine.now())
    session.emit({"type": "run_finished", "step": None, "message": status.value})
    return {**await document(session, run, plan), "records": step_states(board, statuses)}
