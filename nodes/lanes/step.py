"""One step from its inputs to its journaled result. No fault of a step leaves this module."""

from typing import Literal

from langgraph.errors import GraphBubbleUp

from graph.plan import JSON, StepStatus
from graph.state import Decision
from nodes.books import charged
from nodes.lanes.carry import carry_out
from nodes.lanes.own_questions import asked_by, show_anew, signed
from nodes.lanes.results import Result, ended
from nodes.lanes.run import StepRun
from nodes.session import RunSession


async def run_step(session: RunSession, step_id: str, decision: Decision | None, *, alone: bool) -> None:
    """Run a claimed step to its result, or to a gate: a person's approval, or a tool's own question.

    With `alone` (the step has a graph task for itself) a tool's `interrupt()` goes up to LangGraph;
    else the step gives way, and the scheduler starts it again alone.
    """
    run = StepRun.of(session, step_id, decision)
    try:
        result = await carry_out(run)
    except GraphBubbleUp as question:
        asked = asked_by(question, run)
        await _gate(run, "question", asked=asked)
        if not alone:
            return
        await show_anew(run, asked)
        raise signed(question, step_id) from None
    if result is None:
        await _gate(run, "approval")
    elif not run.stays_open(result):
        await _finish(run, result)


async def _gate(run: StepRun, kind: Literal["approval", "question"], **more: JSON) -> None:
    gate = {"kind": kind, **more}
    run.entry = run.entry.model_copy(update={"status": StepStatus.WAITING, "approval": gate})
    run.board.give_back(run.entry)
    await run.session.journal.commit(run.entry)


async def _finish(run: StepRun, result: Result) -> None:
    run.entry = charged(ended(run.entry, result, run.session.engine.now()), run.spent.used)
    # What a lookup gave must outlive the process before its dependents begin; only what cannot be had
    # again must outlive a power cut too.
    looked_up = run.entry.effect == "read" and result.status is StepStatus.SUCCEEDED
    again = looked_up or result.status is StepStatus.NOT_TAKEN
    (stored,) = await run.session.journal.commit(run.entry, synced=not again)
    run.board.record(stored, result.output)
    run.emit(f"step_{result.status.value}", result.error.message if result.error else result.note)
