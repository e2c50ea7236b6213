"""Dependencies that follow from references."""

from graph.plan.models import Plan
from graph.plan.parts import all_references
from graph.plan.steps import Step


def with_implied_dependencies(plan: Plan) -> Plan:
    """Add every step that a step refers to, and that is in the plan, to its depends_on."""
    known = {step.id for step in plan.steps}
    steps = tuple(_with_implied(step, known) for step in plan.steps)
    changed = any(new is not old for new, old in zip(steps, plan.steps, strict=True))
    return plan.model_copy(update={"steps": steps}) if changed else plan


def _with_implied(step: Step, known: set[str]) -> Step:
    named = [step_id for expression in all_references(step) for step_id in sorted(expression.step_ids)]
    missing = [
        step_id for step_id in dict.fromkeys(named) if step_id in known and step_id not in step.depends_on
    ]
    if not missing:
        return step
    return step.model_copy(update={"depends_on": (*step.depends_on, *missing)})
