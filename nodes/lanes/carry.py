"""What a step, or one item of a map, does: its inputs, the question whether it may run, and its work."""

from dataclasses import replace
from typing import Any

from checkpoints import UNEXPECTED_RESULT
from graph.plan import AgentStep, LlmStep, MapStep, PlanStep, ReferenceFailure
from nodes.decide.approvals import is_approved
from nodes.decide.conditions import waits_for_condition
from nodes.lanes.agent import run_agent
from nodes.lanes.arguments import resolved_args
from nodes.lanes.binding import bind
from nodes.lanes.conditions import expectation, not_taken
from nodes.lanes.fallback import after_fallback, falls_back, go_over, take_over
from nodes.lanes.grounds import question_of, ungrounded_reason
from nodes.lanes.llm_call import run_llm
from nodes.lanes.map_step import run_map
from nodes.lanes.plan_step import run_plan
from nodes.lanes.results import Result, failed
from nodes.lanes.run import StepRun
from nodes.lanes.tool_call import run_tool
from nodes.premises import waits_for_check


async def carry_out(run: StepRun) -> Result | None:
    """The end of the step's execution, or None when a person must be asked or the plan be checked first.

    Whoever calls it journals the end; what must be durable before it, as a write's intent or that a fallback
    is next, is journaled here, in the entry of `run`.

    Raises:
        GraphBubbleUp: The step's tool asks a question of its own.
    """
    begun = run.entry.fallback is not None
    if not begun:
        end = await _own_work(run)
        if end is None or not falls_back(run, end):
            return end
        await go_over(run, end)
    own = replace(run)
    take_over(run, begun=begun)
    if not begun and _is_checked_first(run):
        return None
    end = await _work(run)
    return end if end is None else await after_fallback(own, run, end)


async def _own_work(run: StepRun) -> Result | None:
    undecided = waits_for_condition(run.step, run.entry)
    left_out = await not_taken(run)
    if left_out is not None:
        return left_out
    if undecided and _is_checked_first(run):
        return None
    if isinstance(run.step, MapStep):
        end = await run_map(run, run.step, carry_out)
    else:
        end = await _work(run)
    return await _as_expected(run, end) if isinstance(run.step, MapStep | PlanStep) else end


def _is_checked_first(run: StepRun) -> bool:
    """Whether the plan is to be checked before this work, which nobody knew to come. Maps' items are not."""
    if run.item is not None:
        return False
    run.board.entries[run.step.id] = run.entry
    return waits_for_check(run.session, run.board.step(run.step.id))


async def _work(run: StepRun) -> Result | None:
    args = await _inputs(run)
    if isinstance(args, Result):
        return args
    if await _must_wait(run, args):
        return None
    return await _act(run, args)


async def _as_expected(run: StepRun, end: Result | None) -> Result | None:
    """The end of a step that others ran for it, failed where its result is not what the plan expects."""
    if end is None or not end.status.ok:
        return end
    fault = (await expectation(run.session, run.work))(end.output)
    return end if fault is None else replace(failed("hard", UNEXPECTED_RESULT, fault), output=end.output)


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
