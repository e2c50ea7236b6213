"""What a new run is given: a plan from a file, a template with parameters, or only a goal."""

from collections.abc import Iterable
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel

from graph.cli.errors import ModelMissing, UsageProblem
from graph.cli.inputs import NO_MODEL_REMEDY, checked_goal, read_plan, require_runnable
from graph.plan import Plan
from graph.plan.templates import load_templates
from graph.state import Engine, Settings, plan_by_rule, plan_of_template
from tools import ToolRegistry


@dataclass(frozen=True)
class Equipment:
    """What a graph is built from."""

    tools: ToolRegistry
    models: dict[str, BaseChatModel]
    settings: Settings

    @property
    def engine(self) -> Engine:
        """The same as the graph will have, to judge before it is built."""
        templates = load_templates(self.settings.template_folders)
        return Engine(self.tools, self.models, self.settings, templates=templates)


@dataclass(frozen=True)
class Wish:
    """What somebody asks for on a command line."""

    goal: str | None
    plan: str | None
    template: str | None
    params: tuple[str, ...] = ()


def plan_to_run(wish: Wish, equipment: Equipment) -> Plan | None:
    """The plan to run, or None when the goal is to be planned by the graph.

    Raises:
        UsageProblem: Nothing, or too much, was asked for.
        ModelMissing: Only a model could plan or do it, and there is none.
        PlanError, TemplateError: The plan or the template cannot be used.
    """
    if wish.goal is not None:
        checked_goal(wish.goal, equipment.settings)
    if wish.params and wish.template is None:
        raise UsageProblem("-p goes with a template: name it with --template")
    if wish.template is not None:
        if wish.plan is not None:
            raise UsageProblem("--plan and --template exclude each other: give one of them")
        return plan_of_template(equipment.engine, wish.template, read_params(wish.params), wish.goal)
    if wish.plan is not None:
        plan = read_plan(wish.plan, wish.goal, equipment.settings)
        require_runnable(plan, equipment.tools, equipment.settings, equipment.models)
        return plan
    if wish.goal is None:
        raise UsageProblem("nothing to do: give a GOAL in words, a plan with --plan FILE, or a --template")
    _require_planner(wish.goal, equipment)
    return None


def _require_planner(goal: str, equipment: Equipment) -> None:
    if equipment.models:
        return
    choice = plan_by_rule(equipment.engine, goal)
    if choice.plan is None:
        noted = f" ({'; '.join(choice.notes)})" if choice.notes else ""
        raise ModelMissing(
            f"a goal without --plan needs a model to plan it: {NO_MODEL_REMEDY}, "
            f"or give --plan FILE or --template NAME{noted}"
        )


def read_params(pairs: Iterable[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping; raises UsageProblem."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageProblem(f"-p {pair} has no value: write -p NAME=VALUE")
        if name.strip() in values:
            raise UsageProblem(f"-p {name.strip()} is given twice: give it once")
        values[name.strip()] = value
    return values
