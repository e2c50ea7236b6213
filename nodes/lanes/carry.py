"""What a step, or one item of a map, does: its inputs, the question whether it may run, and its work."""

from typing import Any

from graph.plan import AgentStep, LlmStep, MapStep, PlanStep, ReferenceFailure
from nodes.decide.approvals import is_approved
from nodes.lanes.agent import run_agent
from nodes.lanes.arguments import resolved_args
from nodes.lanes.binding import bind
from nodes.lanes.grounds import question_of, ungrounded_reason
from nodes.lanes.llm_call import run_llm
from nodes.lanes.map_step import run_map
from nodes.lanes.plan_step import run_plan
from nodes.lanes.results import Result, failed
from nodes.lanes.run import StepRun
from nodes.lanes.tool_call import run_tool


async def carry_out(run: StepRun) -> Result | None:
    """The end of the step's execution, or None when a person must be asked first.

    Whoever calls it journals the end; what must be durable before it, as a write's intent, is journaled
    here, in the entry of `run`.

    Raises:
        GraphBubbleUp: The step's tool asks a question of its own.
    """
    if isinstance(run.step, MapStep):
        return await run_map(run, run.step, carry_out)
    args = await _inputs(run)
    if isinstance(args, Result):
        return args
    if await _must_wait(run, args):
        return None
    return await _act(run, args)


async def _inputs(run: StepRun) -> dict[str, Any] | Result:
    """What the step is to run with, or its end when that cannot be had or must not be used."""
    lost = await bind(run)
    if lost is not None:
        return lost
    try:
        args = await resolved_args(run.session, run.work)
    except ReferenceFailure as error:
        return failed("hard", error.code, str(error))
    if run.session.settings.approve_at == "never":
        made_up = await ungrounded_reason(run.session, run.work, args)
        return args if made_up is None else failed("hard", "ungrounded_arg", made_up)
    return args


async def _must_wait(run: StepRun, args: dict[str, Any]) -> bool:
    """Whether a person is asked first; not about a call that would be refused anyway."""
    if run.asked_ahead:
        return False
    why = await question_of(run.session, run.work, args)
    if why is None or is_approved(run.step, run.board.plan, args, run.decision):
        return False
    return run.tool is None or not (run.tool.args_problems(args) or run.tool.denied(args))


async def _act(run: StepRun, args: dict[str, Any]) -> Result:
    if isinstance(run.step, LlmStep):
        return await run_llm(run, run.step, args["instruction"])
    if isinstance(run.step, AgentStep):
        return await run_agent(run, run.step, args)
    if isinstance(run.step, PlanStep):
        return await run_plan(run, run.step, args["goal"])
    return await run_tool(run, args)
