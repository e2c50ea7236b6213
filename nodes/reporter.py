"""reporter: the answer, or an honest "not done, because"."""

import contextlib
from typing import Any

from langgraph.runtime import Runtime

from checkpoints import StoreError
from graph.plan import RunStatus
from graph.state import GraphState, effects
from nodes.decide.outcome import answer_of, cancel_rest, final_status, honest_answer, reason_of, with_stale
from nodes.decide.premises import deviations
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
    board = await rebuild(session, plan, state.get("decisions") or {})
    statuses = cancel_rest(plan, board.statuses, board.entries)
    await session.journal.commit(*closed_entries(session, statuses))
    board.statuses.update(statuses)
    outputs = {s.id: await session.output_of(s.id) for s in plan.steps if statuses[s.id].ok}
    status = final_status(
        plan,
        statuses,
        stopped_by=state.get("stopped_by"),
        broken=bool(deviations(plan, board.entries)),
    )
    reason = reason_of(plan, statuses, board.entries, state.get("no_replan"))
    answer = with_stale(answer_of(plan, statuses, outputs), plan, board.entries)
    if status is not RunStatus.SUCCEEDED:
        answer = honest_answer(reason, answer, effects(board.entries))
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
    with contextlib.suppress(StoreError):  # the run has ended all the same, and the next one cleans up
        await session.results.clean_up(session.engine.now())
    session.emit({"type": "run_finished", "step": None, "message": status.value})
    return {**await document(session, run, plan), "records": step_states(board, statuses)}
