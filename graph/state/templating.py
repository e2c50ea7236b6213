"""Plans from templates: the one a caller names, or the one whose rule fits the goal."""

from collections.abc import Mapping
from dataclasses import dataclass

from graph.plan import JSON, Plan, PlanError, check_plan
from graph.plan.templates import Template, TemplateError, match_rules, tool_faults
from graph.state.engine import Engine
from tools import fingerprints


@dataclass(frozen=True)
class TemplateChoice:
    """What the rules chose: a plan that may run, or None; `notes` tell what was chosen or refused."""

    plan: Plan | None = None
    notes: tuple[str, ...] = ()


def faults_of(engine: Engine, template: Template) -> tuple[str, ...]:
    """Why a template cannot run with the tools and models of this engine."""
    faults = tool_faults(template, fingerprints(engine.registry))
    if template.asks_model and engine.model("executor") is None:
        return (*faults, "it asks a model, and there is no executor model (OPENAI_API_KEY)")
    return faults


def fitting_templates(engine: Engine) -> list[Template]:
    """The templates that can run with the tools and models of this engine."""
    return [each for each in engine.templates.templates.values() if not faults_of(engine, each)]


def plan_of_template(engine: Engine, name: str, params: Mapping[str, JSON], goal: str | None) -> Plan:
    """The plan of a template that somebody named.

    Raises:
        TemplateError: There is no such template, the parameters do not fit, or its tools have changed.
        PlanError: The plan that came out may not run.
    """
    template = engine.templates.require(name)
    faults = faults_of(engine, template)
    if faults:
        raise TemplateError(f"template {name!r} cannot be used: {'; '.join(faults)}")
    plan = template.fill(params, goal=goal)
    problems = check_plan(plan, engine.registry, engine.settings.plan_limits)
    if problems:
        raise PlanError(tuple(problems))
    return plan


def plan_by_rule(engine: Engine, goal: str) -> TemplateChoice:
    """The plan of the one template whose rule fits the goal; no model is asked.

    None when no rule fits, when several templates fit, or when the one that does cannot run here.
    """
    if engine.settings.template_match == "off":
        return TemplateChoice()
    matches = match_rules(engine.templates.templates.values(), goal)
    runnable = [match for match in matches if not faults_of(engine, match.template)]
    refused = [
        f"template {match.template.name} not used: {fault}"
        for match in matches
        for fault in faults_of(engine, match.template)[:1]
    ]
    if len(runnable) > 1:
        names = ", ".join(match.template.name for match in runnable)
        return TemplateChoice(notes=(*refused, f"several templates fit, none is used: {names}"))
    if not runnable:
        return TemplateChoice(notes=tuple(refused))
    chosen = runnable[0].template
    try:
        plan = plan_of_template(engine, chosen.name, runnable[0].params, goal)
    except (TemplateError, PlanError) as error:
        return TemplateChoice(notes=(*refused, f"template {chosen.name} not used: {error}"))
    return TemplateChoice(plan, (*refused, told(chosen)))


def told(template: Template) -> str:
    return f"template {template.name} version {template.version}"
