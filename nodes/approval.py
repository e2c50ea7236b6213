"""approval: ask one question and write the answer down. Nothing happens before it asks."""

from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from checkpoints import UNEXPECTED_RESULT, StepEntry, StepError
from graph.plan import AgentStep, MapStep, StepStatus, fallback_step
from graph.state import (
    RESPONSE_SCHEMA,
    ApprovalError,
    Decision,
    Engine,
    Request,
    StepTask,
    check_edit,
    read_answers,
)
from nodes.decide.approvals import decided_call, decision_from, standing_after, status_after
from nodes.lanes.arguments import resolved_args
from nodes.lanes.conditions import expectation
from nodes.lanes.fallback import gone_over
from nodes.lanes.map_calls import inner_of, item_work, listed
from nodes.lanes.rebuild import ensure_board, read_state
from nodes.lanes.results import Result, blank_entry
from nodes.lanes.work import Work, work_of
from nodes.progress import step_states
from nodes.session import RunSession


async def approval(state: StepTask, runtime: Runtime[None]) -> dict[str, Any]:
    """Ask about the step that `state` names.

    When this resume answers other questions only, or none, the node gives way at once: the superstep
    ends, what was approved runs, and the scheduler asks the rest again. An answer that fits nothing
    leaves the question open, with the error in it.
    """
    session = RunSession.of(runtime)
    step_id = state["step"]
    if session.gives_way(step_id):
        return {}
    pending = read_state("pending")["pending"]
    request = Request(**next(item for item in pending if item["step"] == step_id))
    answer = _ask(request, session.engine)
    await ensure_board(session)
    decision = await _decide(session, request, answer)
    standing = standing_after(decision, session.decisions.get(step_id))
    records = await _write_down(session, request, decision, standing)
    return {"decisions": {step_id: standing}, "records": records}


def _ask(request: Request, engine: Engine) -> dict[str, Any]:
    shown = request.to_json()
    while True:
        raw = interrupt(shown, response_schema=RESPONSE_SCHEMA)
        try:
            answer = read_answers(raw, [request])[request.id]
            check_edit(request, answer, engine.registry)
            return answer
        except ApprovalError as error:
            shown = {**request.to_json(), "error": str(error)}


async def _decide(session: RunSession, request: Request, answer: dict[str, Any]) -> Decision:
    work = work_of(session, session.require_board().step(request.step))
    edited = None
    if answer["args"] is not None:
        edited = {**await resolved_args(session, replace(work, decision=None)), **answer["args"]}
    return decision_from(answer, request, work.step, edited=edited, at=session.engine.now().isoformat())


async def _as_expected(session: RunSession, work: Work) -> StepEntry:
    """The entry of a write that a person knows has happened: failed, if what it gave is not as expected.

    A person who tells no result has nothing held against it.
    """
    entry = work.entry
    assert entry is not None
    fault = None if entry.output is None else (await expectation(session, work))(entry.output)
    if fault is None:
        return entry
    error = StepError(kind="hard", code=UNEXPECTED_RESULT, message=fault)
    lost = entry.model_copy(update={"status": StepStatus.FAILED, "error": error})
    if work.step.fallback is None:
        return lost
    return await gone_over(session, replace(work, entry=lost), error)


async def _part_as_expected(session: RunSession, work: Work, part: StepEntry) -> StepEntry:
    """The entry of a call within a step; that of a map's item is held against what its step expects."""
    step = work.step
    if not isinstance(step, MapStep) or part.item is None or part.status is not StepStatus.SUCCEEDED:
        return part
    items = await listed(session, work)
    if part.step_id != step.id or isinstance(items, Result) or part.item >= len(items):
        return part
    of_item = item_work(session, work, inner_of(work), items, part.item)
    other = fallback_step(of_item.step) if part.fallback is not None else None
    return await _as_expected(session, replace(of_item, step=other or of_item.step, entry=part))


async def _write_down(
    session: RunSession, request: Request, decision: Decision, standing: Decision
) -> dict[str, Any]:
    board = session.require_board()
    step = board.step(request.step)
    status = status_after(decision)
    entry = board.entries.get(step.id) or blank_entry(session.run_id, board.plan, step, None)
    changes: dict[str, Any] = {"approval": dict(decision), "status": status}
    if status.settled:
        changes |= {"ended_at": session.engine.now(), "note": decision["reason"] or ""}
    if status is StepStatus.SUCCEEDED:
        changes |= {"output": decision["result"], "error": None}
    has_parts = isinstance(step, (AgentStep, MapStep))
    parts = decided_call(board.entries.values(), step.id, decision) if has_parts else []
    if parts:
        parts = [await _part_as_expected(session, work_of(session, step), part) for part in parts]
        # The step goes on behind the call that was in doubt; it has not ended with it.
        board.entries.update((part.key, part) for part in parts)
        changes = {"approval": dict(decision), "status": StepStatus.PENDING, "error": None}
        session.journal.note(*parts)
    entry = entry.model_copy(update=changes)
    if entry.status is StepStatus.SUCCEEDED:
        entry = await _as_expected(session, replace(work_of(session, step), entry=entry, decision=standing))
    board.record(entry, decision["result"])
    await session.journal.commit(entry)
    session.emit(
        {"type": f"approval_{decision['decision']}", "step": step.id, "message": decision["reason"] or ""}
    )
    return step_states(board, board.take_changes())
