"""Conditions of a plan, as they turn out on the results at hand."""

from dataclasses import replace

from checkpoints import StepEntry
from graph.plan import JSON, PlanStep, ReferenceFailure, Scope, Step, condition


def waits_for_condition(step: Step, entry: StepEntry | None) -> bool:
    """Whether it is not known yet that the step is taken. A part of the work that was planned was taken."""
    if step.when is None or (isinstance(step, PlanStep) and step.sub_steps):
        return False
    return entry is None or not entry.taken


def why_unexpected(expect: str, scope: Scope, result: JSON) -> str | None:
    """Why a result is not what the plan expects of it, or None.

    What cannot be told of a result, because it lacks what is asked about, is not met.
    """
    try:
        met = condition(expect, replace(scope, local_values={**scope.local_values, "result": result}))
    except ReferenceFailure as failure:
        return f"the result must fulfil {expect}, which cannot be told of it: {failure}"
    return None if met else f"the result must fulfil {expect}, and does not"
