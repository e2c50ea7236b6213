"""Checks of the expressions in steps."""

from collections.abc import Iterator, Sequence

from graph.plan.cel import syntax_fault
from graph.plan.cost import static_cost_fault
from graph.plan.errors import PlanProblem
from graph.plan.expressions import NAMES_NOTHING, RESULT, Expression
from graph.plan.limits import PlanLimits
from graph.plan.messages import did_you_mean, shown
from graph.plan.models import Plan
from graph.plan.parts import Part, step_parts
from graph.plan.steps import Step


def reference_problems(plan: Plan, open_steps: Sequence[Step], limits: PlanLimits) -> Iterator[PlanProblem]:
    """Yield what is wrong with the references and conditions of open steps."""
    ids = {step.id: None for step in plan.steps}
    for step, part, expression in _expressions(open_steps):
        fault = _form_problem(expression, part, step.id, limits)
        if fault is not None:
            yield fault
            continue
        yield from _local_problems(expression, part, step.id)
        yield from _step_problems(expression, step, ids)
        yield from _unknown_params(expression, step.id, plan)


def _expressions(steps: Sequence[Step]) -> Iterator[tuple[Step, Part, Expression]]:
    for step in steps:
        for part in step_parts(step):
            for expression in dict.fromkeys(part.expressions):
                yield step, part, expression


def _form_problem(expression: Expression, part: Part, step_id: str, limits: PlanLimits) -> PlanProblem | None:
    costly = static_cost_fault(expression, limits.max_expression_chars)
    if costly is not None:
        return PlanProblem("expression_too_costly", step_id, f"{shown(expression.text)}: {costly}")
    fault = expression.fault
    if fault is None and expression.path is None:
        fault = syntax_fault(expression.text)
    if fault is None:
        return None
    if part.is_condition and fault == NAMES_NOTHING:
        fault = "a condition asks something of a result or a param; leave it out where it always holds"
    return PlanProblem("bad_expression", step_id, f"{shown(expression.text)}: {fault}")


def _local_problems(expression: Expression, part: Part, step_id: str) -> Iterator[PlanProblem]:
    for name in sorted(expression.local_names - part.local_names):
        where = "in expect and compensate" if name == RESULT else "in the step of a map"
        message = f"{shown(expression.text)}: {name} has a value only {where}; name a step or a param"
        yield PlanProblem("unknown_reference", step_id, message)


def _step_problems(expression: Expression, step: Step, ids: dict[str, None]) -> Iterator[PlanProblem]:
    text = shown(expression.text)
    for step_id in sorted(expression.step_ids):
        if step_id not in ids:
            hint = did_you_mean(step_id, list(ids)) or "; name a step, or write $${ for a literal ${"
            message = f"{text} needs a step {shown(step_id)}, which is not in the plan{hint}"
            yield PlanProblem("unknown_reference", step.id, message)
        elif step_id not in step.depends_on and step_id != step.id:
            message = f"{text} needs the step {shown(step_id)}; add it to depends_on"
            yield PlanProblem("unknown_reference", step.id, message)
        elif step_id == step.id and step_id not in step.depends_on:
            yield PlanProblem("self_dependency", step.id, f"{text} is the step's own result; use another's")


def _unknown_params(expression: Expression, step_id: str, plan: Plan) -> Iterator[PlanProblem]:
    for name in sorted(expression.param_names - plan.params.keys()):
        given = f"the params are {', '.join(list(plan.params)[:10])}" if plan.params else "the plan has none"
        yield PlanProblem("unknown_reference", step_id, f"no param {shown(name)}; {given}")
