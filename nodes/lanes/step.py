"""One step from its inputs to its journaled result. No fault of a step leaves this module."""

from typing import Any, Literal

from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.types import Interrupt

from graph.plan import LlmStep, ReferenceFailure, StepStatus
from graph.state import Decision
from nodes.books import charged
from nodes.decide.approvals import is_approved, why_approval
from nodes.lanes.arguments import resolved_args
from nodes.lanes.llm_call import run_llm
from nodes.lanes.results import Result, ended, failed
from nodes.lanes.run import StepRun
from nodes.lanes.tool_call import run_tool
from nodes.metering import BUDGET_SPENT
from nodes.session import RunSession


async def run_step(session: RunSession, step_id: str, decision: Decision | None, *, alone: bool) -> None:
    """Run a claimed step to its result, or to a gate: a person's approval, or a tool's own question.

    With `alone` (the step has a graph task for itself) a tool's `interrupt()` goes up to LangGraph;
    else the step gives way, and the scheduler starts it again alone.
    """
    run = StepRun.of(session, step_id, decision)
    try:
        args = await resolved_args(session, run.step, decision)
    except ReferenceFailure as error:
        await _finish(run, failed("hard", error.code, str(error)))
        return
    if _must_wait(run, args):
        await _gate(run, "approval")
        return
    try:
        result = await _act(run, args)
    except GraphBubbleUp as question:
        await _gate(run, "question")
        if not alone:
            return
        raise _signed(question, step_id) from None
    if _gives_way(run, result):
        return
    await _finish(run, result)


def _gives_way(run: StepRun, result: Result) -> bool:
    """Whether the run's budget was spent before the step began: it then stays as it is."""
    refused = result.error is not None and result.error.code == BUDGET_SPENT
    return refused and run.entry.attempts == (run.prior.attempts if run.prior else 0)


def _must_wait(run: StepRun, args: dict[str, Any]) -> bool:
    why = why_approval(run.step, run.tool, args, run.session.settings)
    return why is not None and not is_approved(run.step, run.board.plan, args, run.decision)


async def _act(run: StepRun, args: dict[str, Any]) -> Result:
    if isinstance(run.step, LlmStep):
        return await run_llm(run, run.step, args["instruction"])
    return await run_tool(run, args)


async def _gate(run: StepRun, kind: Literal["approval", "question"]) -> None:
    run.entry = run.entry.model_copy(update={"status": StepStatus.WAITING, "approval": {"kind": kind}})
    run.board.give_back(run.entry)
    await run.session.journal.commit(run.entry)


async def _finish(run: StepRun, result: Result) -> None:
    run.entry = charged(ended(run.entry, result, run.session.engine.now()), run.spent.used)
    # What a lookup gave must outlive the process before its dependents begin; only what cannot be had
    # again must outlive a power cut too.
    again = run.entry.effect == "read" and result.status is StepStatus.SUCCEEDED
    (stored,) = await run.session.journal.commit(run.entry, synced=not again)
    run.board.record(stored, result.output)
    run.emit(f"step_{result.status.value}", result.error.message if result.error else "")


def _signed(question: GraphBubbleUp, step_id: str) -> GraphBubbleUp:
    """A tool's own `interrupt()` with the asking step written on it, so that an answer finds it."""
    if not isinstance(question, GraphInterrupt) or not question.args:
        return question
    return GraphInterrupt(tuple(_named(step_id, asked) for asked in question.args[0]))


def _named(step_id: str, asked: Interrupt) -> Interrupt:
    return Interrupt(value={"kind": "question", "step": step_id, "question": asked.value}, id=asked.id)
