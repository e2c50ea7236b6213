"""A tool step's tries: intent, call, retry, doubt."""

from dataclasses import dataclass, replace
from typing import Any

from checkpoints import UNEXPECTED_RESULT
from graph.plan import StepStatus
from nodes.decide.retries import Backoff, wait_before_retry
from nodes.lanes.admission import NotAdmitted
from nodes.lanes.calls_fallback import fall_back, gone_on
from nodes.lanes.calls_gate import STOPPED, demand_of, is_left
from nodes.lanes.calls_kept import kept_or_called
from nodes.lanes.conditions import Expects, expectation
from nodes.lanes.results import Result, failed, failed_call, started
from nodes.lanes.run import StepRun
from nodes.metering import refused_call
from tools import (
    CallFailed,
    CallOutcome,
    CallSucceeded,
    RegisteredTool,
    call_tool,
    idempotency_key,
    reconcile,
)

_FRESH = {"age": None, "stale": False}
"""What an entry says of a result that was called for."""


@dataclass(frozen=True)
class _Call:
    """One call to make: of which tool, with what, under which key, and what its result must fulfil."""

    tool: RegisteredTool
    args: dict[str, Any]
    key: str
    expects: Expects

    def as_expected(self, outcome: CallOutcome) -> CallOutcome | Result:
        """The outcome, with a result that the plan did not expect as a failure.

        A lookup may be tried again then. A write has happened, so its step has failed with its result.
        """
        fault = self.expects(outcome.output) if isinstance(outcome, CallSucceeded) else None
        if fault is None or not isinstance(outcome, CallSucceeded):
            return outcome
        if self.tool.effect == "write":
            return replace(failed("hard", UNEXPECTED_RESULT, fault), output=outcome.output)
        return CallFailed("soft", UNEXPECTED_RESULT, fault)


async def run_tool(run: StepRun, args: dict[str, Any]) -> Result:
    """Call the step's tool until it succeeds, fails for good, or leaves its outcome in doubt.

    An equal call's kept result may answer it. What fails for good falls back as the tool's policy says,
    unless the step has a fallback of its own, which comes first.
    """
    assert run.tool is not None
    end = await gone_on(run, args, _called)
    if end is None:
        end = await _called(run, run.tool, args)
    return end if run.step.fallback is not None else await fall_back_by_policy(run, args, end)


async def fall_back_by_policy(run: StepRun, args: dict[str, Any], end: Result) -> Result:
    """What the policy of the step's tool has in the place of a failed call, as `run_tool` left that open."""
    made = await fall_back(run, args, end, _called)
    if not run.entry.stale or (await expectation(run.session, run.work))(made.output) is None:
        return made
    run.entry = run.entry.model_copy(update=_FRESH)
    return end


async def _called(run: StepRun, tool: RegisteredTool, args: dict[str, Any]) -> Result:
    refusal = _refusal(tool, args)
    if refusal is not None:
        return refusal
    key = idempotency_key(run.board.plan.plan_id, run.identity, run.item, tool.name, args)
    shown = tool.redacted(args if run.tool is None or run.tool is tool else run.tool.redacted(args))
    run.entry = run.entry.model_copy(update={"input": shown, "effect": tool.effect, "idempotency_key": key})
    call = _Call(tool, args, key, await expectation(run.session, run.work))
    if _in_doubt(run, tool):
        settled = await _settle_doubt(call, _interrupted())
        if settled is not None:
            return settled
    end = await kept_or_called(run, tool, args, lambda: _try_until_settled(run, call))
    if run.entry.age is None or call.expects(end.output) is None:
        return end
    run.entry = run.entry.model_copy(update=_FRESH)  # what an equal call gave another step does not do here
    return await _try_until_settled(run, call)


async def _try_until_settled(run: StepRun, call: _Call) -> Result:
    backoff = backoff_of(run, call.tool)
    # What became of each earlier try of a write without a key was settled before this one may be made.
    nothing = run.prior is None or run.prior.attempts == 0 or not call.tool.policy.repeatable
    tries, before = 0, ""
    while True:
        try:
            outcome = await _call_once(run, call, first=tries == 0)
        except NotAdmitted as refusal:
            return _not_made(refusal.failure, before, nothing=nothing)
        tries += 1
        if isinstance(outcome, Result):
            return outcome
        if isinstance(outcome, CallSucceeded):
            return Result(StepStatus.SUCCEEDED, outcome.output)
        if outcome.kind == "unknown":
            settled = await _settle_doubt(call, outcome)
            if settled is not None:
                return settled
        else:
            nothing = nothing and outcome.nothing_happened
        if outcome.kind == "hard":
            return replace(failed_call(outcome), nothing_happened=nothing)
        wait = wait_before_retry(
            backoff, tries, retry_after=outcome.retry_after, jitter=run.session.engine.jitter()
        )
        late = run.spent.no_time_for(wait) if wait is not None else None
        if wait is None or late is not None:
            end = failed("soft", outcome.code, "; ".join(filter(None, (outcome.message, late))))
            return replace(end, nothing_happened=nothing)
        before = f"; before that: {outcome.message}"
        run.emit("step_retry", f"{outcome.message}; again in {wait:.1f} s")
        await run.session.engine.sleep(wait)


def _not_made(why: CallFailed, before: str, *, nothing: bool) -> Result:
    """The end of a step whose tool may not be called; it stays open when that is because the run stops."""
    if why.code == STOPPED:
        return Result(StepStatus.PENDING)
    return replace(failed(why.kind, why.code, f"{why.message}{before}"), nothing_happened=nothing)


async def _call_once(run: StepRun, call: _Call, *, first: bool) -> CallOutcome | Result:
    """One try under all caps; a Result when there is no other: for its budget, for what it gave, or a stop.

    Raises:
        NotAdmitted: The tool's rate or breaker does not allow it.
    """
    tool = call.tool
    demand = demand_of(run, tool, call.args, first=first)
    async with run.board.admission.slot(demand, run.board.priority(run.step.id)) as passed:
        if is_left(run, first=first):
            return Result(StepStatus.PENDING)
        refused = run.spent.ledger.tool_call(run.spent)
        if refused is not None:
            return failed_call(refused_call(refused))
        await _write_intent(run, tool, first=first)
        outcome = await call_tool(tool, call.args, key=call.key, timeout=_timeout(run, tool))
        passed.settle(outcome, run.session.engine.now().timestamp())
    return call.as_expected(outcome)


def _timeout(run: StepRun, tool: RegisteredTool) -> float:
    """Seconds for one call. A lookup ends with the budget of time; a write under way is let finish."""
    limit = run.step.timeout or tool.policy.timeout
    return run.spent.timeout(limit) if tool.effect == "read" else limit


def _refusal(tool: RegisteredTool, args: dict[str, Any]) -> Result | None:
    """Why a write must not even be intended; a lookup's own call checks the same before it is made."""
    if tool.effect == "read":
        return None
    problems = tool.args_problems(args)
    if problems:
        return failed("hard", "bad_args", "; ".join(f"{name}: {text}" for name, text in problems))
    denied = tool.denied(args)
    return failed("hard", "forbidden", denied) if denied else None


async def _write_intent(run: StepRun, tool: RegisteredTool, *, first: bool) -> None:
    """A write's first intent is durable before the call; a read's rides with the next commit."""
    run.entry = started(run.entry, run.session.engine.now())
    run.emit("step_started" if first else "step_attempt")
    if tool.effect == "write" and first:
        await run.session.journal.commit(run.entry)
    else:
        run.session.journal.note(run.entry)


def _in_doubt(run: StepRun, tool: RegisteredTool) -> bool:
    """Whether this very tool was being called when a process ended, and may have done its work."""
    prior = run.prior
    interrupted = prior is not None and prior.status is StepStatus.RUNNING
    return interrupted and tool.effect == "write" and not tool.policy.idempotent


def _interrupted() -> CallFailed:
    return CallFailed(
        kind="unknown",
        code="interrupted",
        message="the process ended while the call was under way; it may have happened",
        retry_after=None,
    )


async def _settle_doubt(call: _Call, outcome: CallFailed) -> Result | None:
    """Ask the tool's reconcile hook; None when the call did not happen and may be made."""
    found = await reconcile(call.tool, call.args, key=call.key)
    if found.happened == "done":
        judged = call.as_expected(CallSucceeded(found.output))
        if isinstance(judged, Result):
            return judged
        return Result(StepStatus.SUCCEEDED, found.output, note="found done by the tool's reconcile hook")
    return None if found.happened == "not_done" else failed_call(outcome)


def backoff_of(run: StepRun, tool: RegisteredTool) -> Backoff:
    policy = tool.policy
    return Backoff(
        attempts=run.step.max_attempts or policy.max_attempts,
        base=policy.backoff_base,
        factor=policy.backoff_factor,
        cap=policy.backoff_cap,
        limit=run.session.settings.retry_after_limit,
    )
