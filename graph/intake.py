"""What a caller hands in, judged before anything runs: goals, plans, answers."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from graph.plan import (
    LlmStep,
    MapStep,
    Plan,
    PlanError,
    PlanProblem,
    PlanrailError,
    PlanStep,
    Step,
    StepStatus,
    check_plan,
    parse_plan,
)
from graph.state import Engine, GraphInput, plan_by_rule, plan_of_template

MODEL_REMEDY = "hand a model to build_graph(models=...), or set OPENAI_API_KEY or OPENAI_BASE_URL"

ALLOWED = tuple(GraphInput.__annotations__)


class InputError(PlanrailError):
    """The input cannot be run; the message names what and the remedy. Nothing was run."""

    code: ClassVar[str] = "bad_input"


class RunExistsError(PlanrailError):
    """The thread holds a run that has not ended."""

    code: ClassVar[str] = "run_exists"


class RunNotFoundError(PlanrailError):
    """There is nothing to resume under this id."""

    code: ClassVar[str] = "run_not_found"


def read_input(given: Any, engine: Engine) -> dict[str, Any]:
    """The graph's input as plain data: a goal, and a plan that checks clean or None.

    Raises:
        InputError: The goal or the shape of the input.
        PlanError: The plan has problems; it carries all of them.
        TemplateError: The template cannot be used, or not with these params.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"the input is a {type(given).__name__}: give an object with goal, plan or both")
    unknown = sorted(set(map(str, given)) - set(ALLOWED))
    if unknown:
        raise InputError(f"unknown input {', '.join(map(repr, unknown))}: give goal, plan or both")
    named = given.get("template") is not None or given.get("params") is not None
    plan = _template_plan(given, engine) if named else read_plan(given.get("plan"), given.get("goal"), engine)
    goal = given.get("goal")
    if plan is not None and (goal is None or goal == ""):
        goal = plan.goal
    goal = check_goal(goal, engine.settings.max_goal_chars)
    if plan is None and engine.model("planner") is None:
        choice = plan_by_rule(engine, goal)
        if choice.plan is None:
            noted = f" ({'; '.join(choice.notes)})" if choice.notes else ""
            raise InputError(
                f"there is no plan and no model that could make one: give a plan, {MODEL_REMEDY}{noted}"
            )
    return {"goal": goal, "plan": plan.to_json() if plan else None}


def of_parent(state: Any) -> Any:
    """What a parent graph's state holds for this graph; its other keys are its own."""
    if not isinstance(state, Mapping):
        return state
    ours = {key: state[key] for key in ALLOWED if key in state}
    if ours.get("template") is None:
        ours.pop("params", None)
    return ours


def without_ids(ready: Mapping[str, Any]) -> dict[str, Any]:
    """An input as `read_input` gives it, without what is new each time the same is asked for."""
    plan = ready["plan"]
    return {**ready, "plan": plan and {key: value for key, value in plan.items() if key != "plan_id"}}


def check_stored_plan(values: Mapping[str, Any], engine: Engine) -> None:
    """Hold the plan of a run that goes on to the rules of a new one.

    It may have been edited since (`update_state`, a fork in Studio), and the tools may be others.

    Raises:
        PlanError: What is wrong with the steps that have not ended.
    """
    if values.get("plan") is None:
        return
    records: Mapping[str, Any] = values.get("records") or {}
    ended = {step for step, record in records.items() if StepStatus(record["status"]).settled}
    plan, problems = parse_plan(values["plan"])
    found = list(problems)
    if plan is not None and not found:
        found = check_plan(plan, engine.registry, engine.settings.plan_limits)
        found += missing_models(plan, engine)
    # What had a source when a model wrote it has one still, and what a person wrote in is theirs.
    found = [problem for problem in found if problem.code != "ungrounded_arg"]
    open_problems = tuple(problem for problem in found if problem.step_id not in ended)
    if open_problems:
        raise PlanError(open_problems)


def _template_plan(given: Mapping[str, Any], engine: Engine) -> Plan:
    """The plan of the template that the input names; raises InputError, TemplateError or PlanError."""
    name, params, goal = given.get("template"), given.get("params"), given.get("goal")
    if name is None:
        raise InputError("params go with a template: name it, or put the params into the plan")
    if given.get("plan") is not None:
        raise InputError("the input has a plan and a template: give one of them")
    if not isinstance(name, str) or not isinstance(params or {}, Mapping):
        raise InputError("a template is named by text, its params are an object")
    words = check_goal(goal, engine.settings.max_goal_chars) if goal else None
    return plan_of_template(engine, name, params or {}, words)


def check_goal(goal: Any, limit: int) -> str:
    """The goal, stripped; raises InputError when it is no usable text."""
    if goal is None or (isinstance(goal, str) and not goal.strip()):
        raise InputError("the goal is empty: say in words what is to be done")
    if not isinstance(goal, str):
        raise InputError(f"the goal is a {type(goal).__name__}: give text")
    if "\x00" in goal:
        raise InputError("the goal holds a NUL character: remove it")
    if len(goal) > limit:
        raise InputError(f"the goal has {len(goal)} characters, at most {limit} are allowed: shorten it")
    try:
        goal.encode()
    except UnicodeEncodeError:
        raise InputError("the goal is not valid Unicode text: it holds half of a surrogate pair") from None
    return goal.strip()


def read_plan(given: Any, goal: Any, engine: Engine) -> Plan | None:
    """A caller's plan as revision 1, checked against the tools; raises PlanError."""
    if given is None:
        return None
    data = _plan_data(given) if isinstance(given, Plan) else given
    words = goal if isinstance(goal, str) and goal.strip() else None
    author = given.author if isinstance(given, Plan) else "caller"
    plan, problems = parse_plan(data, goal=words, plan_id=uuid.uuid4().hex, author=author)
    found = list(problems)
    if plan is not None and not found:
        found = check_plan(plan, engine.registry, engine.settings.plan_limits)
        found += missing_models(plan, engine)
    if plan is None or found:
        raise PlanError(tuple(found))
    return plan


def _plan_data(plan: Plan) -> dict[str, Any]:
    """A Plan object's data. An id that nobody chose is not kept: two runs of one object are two runs."""
    data: dict[str, Any] = plan.to_json()
    if "plan_id" not in plan.model_fields_set:
        del data["plan_id"]
    return data


def missing_models(plan: Plan, engine: Engine) -> list[PlanProblem]:
    """A problem for each step that needs a model when there is none to run it."""
    found = []
    for step in plan.steps:
        role = _role_of(step)
        if step.asks_model and engine.model(role) is None:
            found.append(PlanProblem("no_model", step.id, f"there is no {role} model: {MODEL_REMEDY}"))
    return found


def _role_of(step: Step) -> str:
    """Whose model a step asks, when it asks one."""
    if isinstance(step, PlanStep):
        return "planner"
    inner = step.step if isinstance(step, MapStep) else step
    return inner.role if isinstance(inner, LlmStep) else "executor"
