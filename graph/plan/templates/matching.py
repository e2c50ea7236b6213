"""Which template a goal is for, and whether the tools at hand are those it was made for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph.plan.grounding import Sources
from graph.plan.json_values import JSON
from graph.plan.templates.template import Template, TemplateError


@dataclass(frozen=True)
class TemplateMatch:
    """A template and the parameters that its rule found in the goal."""

    template: Template
    params: dict[str, JSON]


def match_rules(templates: Iterable[Template], goal: str) -> tuple[TemplateMatch, ...]:
    """The templates of which a rule fits the goal and gives every parameter; no model is asked."""
    matches = (_match(template, goal) for template in templates)
    return tuple(match for match in matches if match is not None)


def _match(template: Template, goal: str) -> TemplateMatch | None:
    for rule in template.match:
        found = rule.captures(goal)
        if found is None:
            continue
        try:
            return TemplateMatch(template, template.bind(dict(found)))
        except TemplateError:
            continue
    return None


def tool_faults(template: Template, fingerprints: Mapping[str, str]) -> tuple[str, ...]:
    """Why the template does not go with these tools: one is missing, or is not what it was.

    Args:
        template: Any template.
        fingerprints: Of all tools there are, by name.
    """
    used = sorted(template.used_tools)
    missing = [f"there is no tool {name!r}" for name in used if name not in fingerprints]
    changed = [
        f"tool {name!r} has changed since the template was made (arguments, effect or result): "
        f"check the steps that call it, then write its new fingerprint {fingerprints[name]} into the file"
        for name in used
        if name in fingerprints and template.tools.get(name, fingerprints[name]) != fingerprints[name]
    ]
    return (*missing, *changed)


def made_up(template: Template, params: Mapping[str, JSON], goal: str) -> tuple[str, ...]:
    """The names of parameters whose values occur nowhere in the goal.

    A model that reads them out of a goal may not invent them; defaults and choices are the template's.
    """
    sources = Sources(goal)
    return tuple(
        name
        for name, value in params.items()
        if template.params[name].type in ("str", "int", "number")
        and value != template.params[name].default
        and sources.lacks(value)
    )
