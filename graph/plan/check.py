"""Deciding whether a plan may run."""

from collections.abc import Iterator
from itertools import islice

from graph.plan.catalog import ToolCatalog
from graph.plan.check_grounding import grounding_problems
from graph.plan.check_history import history_problems
from graph.plan.check_references import reference_problems
from graph.plan.check_structure import structure_problems
from graph.plan.check_tools import schema_problems, tool_problems
from graph.plan.errors import PlanProblem
from graph.plan.limits import History, PlanLimits
from graph.plan.models import Plan

DEFAULT_LIMITS = PlanLimits()
MAX_PROBLEMS = 200


def check_plan(
    plan: Plan, catalog: ToolCatalog, limits: PlanLimits = DEFAULT_LIMITS, history: History | None = None
) -> list[PlanProblem]:
    """Return everything that keeps a plan from running; none means it may run.

    Pure and total for any Plan, in time linear in its size. Completed steps of the history never run again:
    their tools, references and dependencies are not judged, only that they are unchanged.

    Args:
        plan: The plan or new revision.
        catalog: The tools there are.
        limits: Bounds on size.
        history: What happened before, for a replan.

    Returns:
        At most MAX_PROBLEMS, those of the plan as a whole first. Codes: empty, too_many_steps, duplicate_id,
        reserved_id, too_many_items, unknown_dependency, self_dependency, too_deep, cycle, unknown_tool,
        bad_args, injected_arg, forbidden, bad_schema, ungrounded_arg, unknown_reference, bad_expression,
        expression_too_costly, drops_completed_step, changes_completed_step, repeats_failed_call,
        repeats_completed_effect.
    """
    return list(islice(_problems(plan, catalog, limits, history), MAX_PROBLEMS))


def _problems(
    plan: Plan, catalog: ToolCatalog, limits: PlanLimits, history: History | None
) -> Iterator[PlanProblem]:
    if not plan.steps:
        yield PlanProblem("empty", None, "the plan has no steps; give at least one")
    if len(plan.steps) > limits.max_steps:
        message = f"the plan has {len(plan.steps)} steps, at most {limits.max_steps} are allowed; use fewer"
        yield PlanProblem("too_many_steps", None, message)
    done = frozenset() if history is None else frozenset(history.completed)
    open_steps = tuple(step for step in plan.steps if step.id not in done)
    yield from structure_problems(plan, open_steps, limits)
    yield from reference_problems(plan, open_steps, limits)
    yield from tool_problems(open_steps, catalog)
    yield from schema_problems(open_steps)
    yield from grounding_problems(plan, open_steps, catalog, history)
    if history is not None:
        yield from history_problems(plan, catalog, history)
