"""scheduler: what may run now, what must be asked, or that nothing is left."""

from typing import Any

from langgraph.runtime import Runtime

from checkpoints import StepEntry
from graph.plan import RunStatus, StepStatus
from graph.state import Dispatch, GraphState, Request
from nodes.decide.map_question import beyond_question, with_reference
from nodes.decide.readiness import Move
from nodes.judge import Judgement, judge
from nodes.lanes.rebuild import rebuild
from nodes.lanes.results import blank_entry
from nodes.premises import check_premises
from nodes.progress import RUNNING, closed_entries, document, put_run, step_states
from nodes.session import RunSession


async def scheduler(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """Rebuild the board and decide the next move; the edges send it."""
    session = RunSession.of(runtime)
    session.answered = None
    plan = session.plan_of(state["plan"])
    board = await rebuild(session, plan, state.get("decisions") or {})
    await check_premises(session)  # a new revision comes here without passing the validator
    judged = await judge(session, state)
    session.journal.note(*closed_entries(session, board.statuses))
    steps = list(judged.next.steps)
    if judged.next.move is Move.EXECUTE:  # the first executor to come is the first to get a place
        steps.sort(key=board.priority, reverse=True)
    dispatch = Dispatch(move=judged.next.move.value, steps=steps, alone=sorted(judged.asking))
    update: dict[str, Any] = {
        "dispatch": dispatch,
        "records": step_states(board, board.take_changes()),
        "stopped_by": judged.stopped_by,
    }
    if judged.spent_budget is not None:
        update["no_replan"] = judged.spent_budget
        session.emit({"type": "budget_spent", "step": None, "message": judged.spent_budget})
    if judged.next.move is Move.ASK:
        return {**update, **await _ask(session, state, judged)}
    if session.run is None or session.run.status is RunStatus.WAITING:
        run = await put_run(session, state, plan, **RUNNING)
        update["status"], update["pending"] = run.status.value, []
    return update


async def _ask(session: RunSession, state: GraphState, judged: Judgement) -> dict[str, Any]:
    """Write down what waits before anybody is asked."""
    board = session.require_board()
    waiting = [
        _waiting_entry(session, step_id, judged.requests.get(step_id)) for step_id in judged.next.steps
    ]
    stored = await session.journal.commit(*(entry for entry in waiting if entry is not None))
    board.entries.update((entry.key, entry) for entry in stored)
    kept = {entry.step_id: entry.input_ref for entry in stored}
    asked = [judged.requests[s] for s in judged.next.steps if s in judged.requests]
    pending = [with_reference(request, kept.get(request.step)) for request in asked]
    pending += [_question(session, s) for s in judged.next.steps if s in judged.asking]
    for item in pending:
        session.emit({"type": "approval_requested", "step": item["step"], "message": item["reason"]})
    run = await put_run(
        session,
        state,
        board.plan,
        status=RunStatus.WAITING,
        pending=pending,
        reason=f"waiting for a person: {', '.join(item['step'] for item in pending)}",
    )
    return await document(session, run, board.plan)


def _waiting_entry(session: RunSession, step_id: str, request: Request | None) -> StepEntry | None:
    """The entry of a step that waits, with the calls of a map that its question has no room for."""
    board, calls = session.require_board(), beyond_question(request)
    prior = board.entries.get(step_id)
    if calls is None and prior is not None and prior.status in (StepStatus.WAITING, StepStatus.UNKNOWN):
        return None
    entry = blank_entry(session.run_id, board.plan, board.step(step_id), prior)
    changes = {"status": StepStatus.WAITING, "approval": {"kind": "approval"}, "input": calls}
    board.entries[step_id] = entry.model_copy(update=changes)
    return board.entries[step_id]


def _question(session: RunSession, step_id: str) -> dict[str, Any]:
    board = session.require_board()
    step, entry = board.step(step_id), board.entries.get(step_id)
    gate = entry.approval if entry is not None and isinstance(entry.approval, dict) else {}
    return {
        "id": f"question-{step_id}",
        "kind": "question",
        "run_id": session.run_id,
        "step": step_id,
        "tool": getattr(step, "tool", None),
        "args": {"question": gate["asked"]} if "asked" in gate else {},
        "risk": step.risk.value,
        "reason": "its tool asks a question of its own",
        "revision": board.plan.revision,
        "digest": "",
    }
