"""A step's conditions: whether it is taken at all, and whether its result is what the plan expects."""

from collections.abc import Callable

from graph.plan import JSON, ReferenceFailure, StepStatus, condition
from nodes.decide.conditions import waits_for_condition, why_unexpected
from nodes.lanes.arguments import scope_of
from nodes.lanes.results import Result, failed
from nodes.lanes.run import StepRun
from nodes.lanes.work import Work
from nodes.replies import BadReply
from nodes.session import RunSession

BAD_CONDITION = "bad_condition"

Expects = Callable[[JSON], str | None]
"""Says why a result is not what the plan expects of the step, or None."""


async def not_taken(run: StepRun) -> Result | None:
    """The end of a step whose condition is false or cannot be evaluated; None when it is taken."""
    when = run.step.when
    if when is None or not waits_for_condition(run.step, run.entry):
        return None
    try:
        taken = condition(when, await scope_of(run.session, run.work))
    except ReferenceFailure as failure:
        return failed("hard", BAD_CONDITION, f"when: {failure}")
    if not taken:
        return Result(StepStatus.NOT_TAKEN, note=f"{when} is false")
    run.entry = run.entry.model_copy(update={"taken": True})
    return None


def expected(result: JSON, expects: Expects) -> JSON:
    """The result.

    Raises:
        BadReply: It is not what the plan expects of the step.
    """
    fault = expects(result)
    if fault is not None:
        raise BadReply(fault)
    return result


async def expectation(session: RunSession, work: Work) -> Expects:
    """What the plan expects of the step's result; nothing when it says nothing."""
    expect = work.step.expect
    if expect is None:
        return lambda _result: None
    scope = await scope_of(session, work)
    return lambda result: why_unexpected(expect, scope, result)
