"""What a step falls back to: one call in the place of its own work, once that has failed for good."""

from dataclasses import replace
from typing import Any

from checkpoints import UNEXPECTED_RESULT, StepEntry, StepError
from graph.plan import JSON, ReferenceFailure, StepStatus, ToolStep, call_digest, clipped, fallback_step
from nodes.books import charged
from nodes.lanes.arguments import resolved_args
from nodes.lanes.conditions import BAD_CONDITION
from nodes.lanes.results import Result
from nodes.lanes.run import StepRun
from nodes.lanes.tool_call import fall_back_by_policy
from nodes.lanes.work import Work, decision_on_fallback
from nodes.metering import BUDGET_SPENT, STEP_BUDGET_SPENT
from nodes.session import RunSession

_FINAL = frozenset({BUDGET_SPENT, STEP_BUDGET_SPENT, BAD_CONDITION})
"""Ends that no other call turns around: nothing is left to spend, or nobody knows whether it is wanted."""

_SHOWN_CHARS = 2_000


def falls_back(run: StepRun, end: Result) -> bool:
    """Whether the step's own work has failed for good, and the plan has something in its place."""
    return run.step.fallback is not None and _has_failed(end) and not _might_be_done_twice(run, end)


def _might_be_done_twice(run: StepRun, end: Result) -> bool:
    """Whether the step's own write may have happened all the same, and the fallback is a write too.

    A write that takes a key may be made again under that key; its fallback does not know the key.
    """
    other = fallback_step(run.step)
    tools = [run.tool, run.session.engine.tool_of(other) if other is not None else None]
    writes = all(tool is not None and tool.effect == "write" for tool in tools)
    return writes and end.error is not None and end.error.kind == "soft" and not end.nothing_happened


def _has_failed(end: Result) -> bool:
    return end.status is StepStatus.FAILED and end.error is not None and end.error.code not in _FINAL


async def go_over(run: StepRun, end: Result) -> None:
    """Write down that the step's own work has failed and its fallback is next: a resume goes on there."""
    assert end.error is not None
    entry = charged(await gone_over(run.session, run.work, end.error), run.spent.used)
    (run.entry,) = await run.session.journal.commit(entry)
    run.board.entries[run.entry.key] = run.entry
    run.emit("step_fallback", f"{run.entry.fallback_tool}, for {run.entry.own_failure}")


async def gone_over(session: RunSession, work: Work, error: StepError) -> StepEntry:
    """The entry of a step whose own work has failed for good, with its fallback next."""
    entry, call = work.entry, work.step.fallback
    assert entry is not None
    assert call is not None
    kept: dict[str, JSON] = {
        "tool": call.tool,
        "after": error.model_dump(),
        "decided": work.decision["approval_id"] if work.decision else None,
        "tries": entry.attempts,
    }
    if error.code == UNEXPECTED_RESULT and entry.effect == "write":
        kept["done"] = await _effect(session, work, entry)
    blank = dict.fromkeys(("effect", "input", "output", "error", "idempotency_key"))
    changes = {**blank, "status": StepStatus.PENDING, "fallback": kept, "fallback_tool": call.tool}
    return entry.model_copy(update=changes)


async def _effect(session: RunSession, work: Work, entry: StepEntry) -> dict[str, JSON]:
    """The write that the step's own work was, as the effects of the run will tell it."""
    args = await resolved_args(session, work)
    shown: JSON = entry.input if len(str(entry.input)) <= _SHOWN_CHARS else clipped(str(entry.input), 200)
    digest = call_digest(entry.tool, args) if entry.tool is not None else None
    return {
        "tool": entry.tool,
        "args": shown,
        "digest": digest,
        "idempotency_key": entry.idempotency_key,
        "at": session.engine.now().isoformat(),
    }


def take_over(run: StepRun, *, begun: bool) -> None:
    """Let the fallback be the step that is carried out. `begun` says that an earlier process came so far."""
    other, kept = fallback_step(run.step), run.entry.fallback
    assert other is not None
    assert kept is not None
    run.step, run.tool, run.in_place = other, run.session.engine.tool_of(other), True
    run.prior = run.prior if begun else None
    run.decision = decision_on_fallback(kept, run.decision)
    run.entry = run.entry.model_copy(update={"fallback_tool": other.tool})
    run.tries_before = run.entry.attempts


async def after_fallback(own: StepRun, run: StepRun, end: Result) -> Result:
    """The step's end once its fallback has ended: where that failed too, its tool's policy may have more.

    Args:
        own: The execution of the step's own work.
        run: The fallback's execution.
        end: How that ended.
    """
    if not _has_failed(end):
        return end
    made = await _by_policy(own, run)
    return made if made is not None and made.status.ok else _both_failed(run, end)


async def _by_policy(own: StepRun, run: StepRun) -> Result | None:
    """What the policy of the step's own tool gives in its place; only of lookups: those may be made again."""
    lookups = own.tool is not None and own.tool.effect == "read" == run.entry.effect
    if not lookups or not isinstance(own.step, ToolStep):
        return None
    own.entry = run.entry
    try:
        args: dict[str, Any] = await resolved_args(own.session, own.work)
    except ReferenceFailure:
        return None
    made = await fall_back_by_policy(own, args, Result(StepStatus.FAILED, error=_own_error(run)))
    if made.status.ok:
        run.entry = own.entry
    return made


def _own_error(run: StepRun) -> StepError:
    assert run.entry.fallback is not None
    return StepError.model_validate(run.entry.fallback["after"])


def _both_failed(run: StepRun, end: Result) -> Result:
    assert end.error is not None
    own = _own_error(run)
    also = f"its fallback {run.step.does} failed too: {end.error.code}: {end.error.message}"
    words = f"{own.message}; {also}"
    return replace(end, error=own.model_copy(update={"message": words}))
