"""Checks that a model made up no id, address or amount."""

from collections.abc import Iterator, Sequence

from graph.plan.catalog import ToolCatalog
from graph.plan.errors import PlanProblem
from graph.plan.grounding import Sources
from graph.plan.json_values import JSON
from graph.plan.limits import History
from graph.plan.messages import shown
from graph.plan.models import Plan
from graph.plan.parts import planned_calls
from graph.plan.references import Scope, has_reference, resolve
from graph.plan.splice import inside_parts
from graph.plan.steps import MapStep, Step, ToolStep

_NOTHING = Scope(steps={})
_REMEDY = "take it from the request, or refer to the result of a step that looks it up"


def made_by_model(plan: Plan, step_id: str) -> bool:
    """Tell whether a model wrote a step of the plan, so that its values need a source.

    The steps of a part are its planner's, whoever wrote the plan around it.
    """
    if plan.author in ("planner", "replanner"):
        return True
    return "." in step_id and step_id in inside_parts(plan)  # their ids are PART.NAME


def given_values(plan: Plan) -> list[JSON]:
    """Return what people gave with the plan: its goal and, where no model wrote them, its params."""
    return [plan.goal] if plan.author == "planner" else [plan.goal, dict(plan.params)]


def grounding_problems(
    plan: Plan,
    open_steps: Sequence[Step],
    catalog: ToolCatalog,
    history: History | None,
) -> Iterator[PlanProblem]:
    """Yield the literal arguments of a model's plan that must have a source and have none.

    Arguments with references in them are judged when their values are known.
    """
    sources = None
    for step in open_steps:
        if not made_by_model(plan, step.id):
            continue
        for name, value in _literals(step, catalog):
            sources = sources or Sources(*given_values(plan), *_known(history, catalog))
            for made_up in sources.lacks(value):
                message = f"{shown(str(made_up))} as {name} occurs in no input; {_REMEDY}"
                yield PlanProblem("ungrounded_arg", step.id, message)


def _literals(step: Step, catalog: ToolCatalog) -> Iterator[tuple[str, JSON]]:
    for call in planned_calls(step):
        spec = catalog.get(call.tool)
        for name in sorted(spec.grounded & call.args.keys()) if spec is not None else ():
            if not has_reference(call.args[name]):
                yield name, resolve(call.args[name], _NOTHING)


def _known(history: History | None, catalog: ToolCatalog) -> list[JSON]:
    """Return what the revision before had a source for.

    That is what its tools gave, what people wrote into it, which is theirs, and what a model wrote into it
    and was found to have a source. What a model answered in between is no source.
    """
    if history is None:
        return []
    steps = history.previous.steps
    by_tools = [s for s in steps if isinstance(s.step if isinstance(s, MapStep) else s, ToolStep)]
    results = [history.completed[step.id] for step in by_tools if step.id in history.completed]
    for step in steps:
        if made_by_model(history.previous, step.id):
            results += [value for _, value in _literals(step, catalog)]
        else:
            results += [call.args for call in planned_calls(step)]
    return results
