"""One step from its inputs to its journaled result. No fault of a step leaves this module."""

from typing import Any, Literal

from langgraph.errors import GraphBubbleUp

from graph.plan import JSON, AgentStep, LlmStep, ReferenceFailure, StepStatus
from graph.state import Decision
from nodes.books import charged
from nodes.decide.approvals import is_approved
from nodes.lanes.agent import run_agent
from nodes.lanes.arguments import resolved_args
from nodes.lanes.binding import bind
from nodes.lanes.grounds import question_of, ungrounded_reason
from nodes.lanes.llm_call import run_llm
from nodes.lanes.own_questions import asked_by, show_anew, signed
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
    args = await _inputs(run)
    if isinstance(args, Result):
        if not _gives_way(run, args):
            await _finish(run, args)
        return
    if await _must_wait(run, args):
        await _gate(run, "approval")
        return
    try:
        result = await _act(run, args)
    except GraphBubbleUp as question:
        asked = asked_by(question, run)
        await _gate(run, "question", asked=asked)
        if not alone:
            return
        await show_anew(run, asked)
        raise signed(question, step_id) from None
    if _gives_way(run, result):
        return
    await _finish(run, result)


def _gives_way(run: StepRun, result: Result) -> bool:
    """Whether the run's budget was spent before the step began: it then stays as it is."""
    refused = result.error is not None and result.error.code == BUDGET_SPENT
    return refused and run.entry.attempts == (run.prior.attempts if run.prior else 0)


async def _inputs(run: StepRun) -> dict[str, Any] | Result:
    """What the step is to run with, or its end when that cannot be had or must not be used."""
    lost = await bind(run)
    if lost is not None:
        return lost
    try:
        args = await resolved_args(run.session, run.step, run.decision)
    except ReferenceFailure as error:
        return failed("hard", error.code, str(error))
    if run.session.settings.approve_at == "never":
        made_up = await ungrounded_reason(run.session, run.step, run.decision, args)
        return args if made_up is None else failed("hard", "ungrounded_arg", made_up)
    return args


async def _must_wait(run: StepRun, args: dict[str, Any]) -> bool:
    """Whether a person is asked first; not about a call that would be refused anyway."""
    why = await question_of(run.session, run.step, run.decision, args)
    if why is None or is_approved(run.step, run.board.plan, args, run.decision):
        return False
    return run.tool is None or not (run.tool.args_problems(args) or run.tool.denied(args))


async def _act(run: StepRun, args: dict[str, Any]) -> Result:
    if isinstance(run.step, LlmStep):
        return await run_llm(run, run.step, args["instruction"])
    if isinstance(run.step, AgentStep):
        return await run_agent(run, run.step, args)
    return await run_tool(run, args)


async def _gate(run: StepRun, kind: Literal["approval", "question"], **more: JSON) -> None:
    gate = {"kind": kind, **more}
    run.entry = run.entry.model_copy(update={"status": StepStatus.WAITING, "approval": gate})
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
