"""Checks of a new revision against what has already happened."""

from collections.abc import Iterator

from graph.plan.canonical import call_digest, canonical_json
from graph.plan.catalog import ToolCatalog
from graph.plan.errors import PlanProblem, ReferenceFailure
from graph.plan.limits import History
from graph.plan.models import Plan
from graph.plan.parts import fallback_step
from graph.plan.references import Scope, condition_expression, resolve
from graph.plan.steps import Step, ToolStep


def untaken_digest(digest: str, when: str) -> str:
    """Return what stands for a call that was not made, because of this condition before it."""
    return call_digest("when", {"condition": condition_expression(when).text, "call": digest})


def history_problems(plan: Plan, catalog: ToolCatalog, history: History) -> Iterator[PlanProblem]:
    """Yield where a new revision forgets, changes or repeats what is done."""
    steps = {step.id: step for step in plan.steps}
    before = {step.id: step for step in history.previous.steps}
    for step_id in history.completed:
        yield from _completed_problems(step_id, steps.get(step_id), before.get(step_id))
    scope = Scope(history.completed, plan.params)
    for step in plan.steps:
        if step.id not in history.completed:
            for call in (step, fallback_step(step)):
                if isinstance(call, ToolStep):
                    yield from _repetition_problems(call, catalog, history, scope)


def _completed_problems(step_id: str, now: Step | None, before: Step | None) -> Iterator[PlanProblem]:
    if now is None:
        message = f"the completed step {step_id} is missing; keep it as it was"
        yield PlanProblem("drops_completed_step", step_id, message)
    elif before is not None and canonical_json(now.to_json()) != canonical_json(before.to_json()):
        message = f"the completed step {step_id} was changed; keep it as it was and use a new id for new work"
        yield PlanProblem("changes_completed_step", step_id, message)


def _repetition_problems(
    step: ToolStep, catalog: ToolCatalog, history: History, scope: Scope
) -> Iterator[PlanProblem]:
    digest = _digest(step, scope)
    if digest is None:
        return
    if digest in history.failed_calls:
        message = f"{step.tool} with the same arguments has failed; use other arguments or another way"
        yield PlanProblem("repeats_failed_call", step.id, message)
    elif step.when is not None and untaken_digest(digest, step.when) in history.failed_calls:
        message = f"the condition of {step.id} could not be told, and is the same again; correct it"
        yield PlanProblem("repeats_failed_call", step.id, message)
    spec = catalog.get(step.tool)
    if spec is not None and spec.effect == "write" and digest in history.done_effects:
        message = f"{step.tool} with the same arguments is already done; leave it out"
        yield PlanProblem("repeats_completed_effect", step.id, message)


def _digest(step: ToolStep, scope: Scope) -> str | None:
    """Return the digest of a call whose arguments are known by now, else None."""
    if step.open_args:
        return None
    try:
        resolved = {name: resolve(value, scope) for name, value in step.args.items()}
        return call_digest(step.tool, resolved)
    except (ReferenceFailure, ValueError, RecursionError):
        return None
