"""reporter: the answer, or an honest "not done, because"."""

from typing import Any

from langgraph.runtime import Runtime

from checkpoints import StepEntry
from graph.plan import Plan, RunStatus, StepStatus
from graph.state import GraphState, effects
from nodes.decide.outcome import answer_of, cancel_rest, final_status, honest_answer, reason_of
from nodes.decide.premises import deviations
from nodes.lanes.rebuild import rebuild
from nodes.lanes.results import blank_entry
from nodes.progress import document, put_run, step_states
from nodes.session import RunSession


async def reporter(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """End the run: settle what will not run any more, and say how it went."""
    session = RunSession.of(runtime)
    if state.get("plan") is None:
        session.emit({"type": "run_finished", "step": None, "message": state["status"]})
        return {}
    plan = Plan.from_json(state["plan"])
    board = await rebuild(session, plan, state.get("decisions") or {})
    statuses = cancel_rest(plan, board.statuses, board.entries)
    await _close_entries(session, statuses)
    outputs = {s.id: await session.output_of(s.id) for s in plan.steps if statuses[s.id].ok}
    status = final_status(
        plan,
        statuses,
        stopped_by=state.get("stopped_by"),
        broken=bool(deviations(plan, board.entries)),
    )
    reason = reason_of(plan, statuses, board.entries, state.get("no_replan"))
    answer = answer_of(plan, statuses, outputs)
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
    session.emit({"type": "run_finished", "step": None, "message": status.value})
    return {**await document(session, run, plan), "records": step_states(board, statuses)}


async def _close_entries(session: RunSession, statuses: dict[str, StepStatus]) -> None:
    """Journal entries for the steps that did not run, so that the table of steps is whole."""
    board = session.require_board()
    closed: list[StepEntry] = []
    for step_id, status in statuses.items():
        prior = board.entries.get(step_id)
        if status in (StepStatus.SKIPPED, StepStatus.CANCELLED):
            entry = blank_entry(session.run_id, board.plan, board.step(step_id), prior)
            closed.append(entry.model_copy(update={"status": status}))
            board.entries[step_id] = closed[-1]
        elif prior is not None and prior.status is StepStatus.RUNNING:
            closed.append(prior.model_copy(update={"status": status}))
            board.entries[step_id] = closed[-1]
    board.statuses.update(statuses)
    await session.journal.commit(*closed)
