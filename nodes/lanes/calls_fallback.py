"""What a tool's policy has in the place of a call that failed for good: another tool, or an older result."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from graph.plan import StepStatus
from nodes.lanes.calls_kept import Kept
from nodes.lanes.results import Result, failed
from nodes.lanes.run import StepRun
from nodes.metering import BUDGET_SPENT, STEP_BUDGET_SPENT
from tools import RegisteredTool
from tools.cache import has_secret
from tools.call import incomplete
from tools.limits import NOT_CALLED

_FINAL = NOT_CALLED | {BUDGET_SPENT, STEP_BUDGET_SPENT}
"""Ends that no other tool may turn around: the call was refused, or there is nothing left to spend."""

Call = Callable[[StepRun, RegisteredTool, dict[str, Any]], Awaitable[Result]]


async def fall_back(run: StepRun, args: dict[str, Any], end: Result, call: Call) -> Result:
    """What the policy of the step's tool has in the place of a failed call; `end` when there is nothing.

    Args:
        run: The step's execution; its entry names the tool that was called instead.
        args: The call's arguments.
        end: How the call ended.
        call: Calls a tool with them until that succeeds, fails for good, or is in doubt.
    """
    tool = run.tool
    if tool is None or not tool.policy.fallback or not _may_fall_back(run, tool, end):
        return end
    for name in tool.policy.fallback_tools:
        made = await _instead(run, run.session.engine.registry[name], args, end, call)
        if made.status is not StepStatus.FAILED or _is_final(made):
            return made
        end = _with_failure(end, name, made)
        if tool.effect == "write" and not made.nothing_happened:
            return end
    run.entry = run.entry.model_copy(update={"fallback_tool": None})
    soft = end.error is not None and end.error.kind == "soft"
    if soft and tool.policy.falls_back_to_stale and not has_secret(tool, args):
        return await Kept(run, tool, args).stale(end) or end
    return end


async def gone_on(run: StepRun, args: dict[str, Any], call: Call) -> Result | None:
    """The end of a fallback's write that was under way when a process ended; None when none was."""
    prior = run.prior
    if prior is None or prior.status is not StepStatus.RUNNING or prior.fallback_tool is None:
        return None
    if prior.effect != "write":
        return None
    other = run.session.engine.registry.get(prior.fallback_tool)
    if other is None:
        words = f"{prior.fallback_tool} was called when the process ended, and is no tool any more"
        return failed("unknown", "interrupted", words)
    run.entry = run.entry.model_copy(update={"fallback_tool": other.name})
    return await call(run, other, args)


def _may_fall_back(run: StepRun, tool: RegisteredTool, end: Result) -> bool:
    """Whether another call may be made at all: never after a refusal, nor while a write may have happened."""
    if end.status is not StepStatus.FAILED or _is_final(end):
        return False
    # A person who approved a write was shown that tool and no other.
    return tool.effect == "read" or (end.nothing_happened and run.decision is None)


def _is_final(end: Result) -> bool:
    return end.error is not None and end.error.code in _FINAL


async def _instead(
    run: StepRun, other: RegisteredTool, args: dict[str, Any], end: Result, call: Call
) -> Result:
    why = f"{end.error.code}: {end.error.message}" if end.error else "it failed"
    barred = other.denied(args) or other.needs_approval(args)
    if barred is not None:
        return failed("hard", "not_allowed", barred)
    run.emit("step_fallback", f"{other.name}, for {why}")
    run.entry = run.entry.model_copy(update={"fallback_tool": other.name})
    made = _fitting(run, await call(run, other, args))
    note = f"by {other.name} in the place of {run.entry.tool}, {why}"
    return replace(made, note="; ".join(filter(None, (note, made.note))))


def _fitting(run: StepRun, made: Result) -> Result:
    """The other tool's end; what a lookup gave must be what the step's own tool would have given."""
    assert run.tool is not None
    if not made.status.ok or run.tool.effect == "write":
        return made
    lacking = incomplete(run.tool.policy, made.output)
    if lacking is None:
        return made
    run.entry = run.entry.model_copy(update={"age": None, "stale": False})
    return failed(lacking.kind, lacking.code, lacking.message)


def _with_failure(end: Result, name: str, made: Result) -> Result:
    if end.error is None or made.error is None:
        return end
    words = f"{end.error.message}; {name} in its place: {made.error.code}: {made.error.message}"
    return replace(end, error=end.error.model_copy(update={"message": words}))
