"""Steps of a model's plan that nothing needs and that cannot run, and writes that it may have forgotten."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graph.plan import Plan, PlanProblem, ToolStep
from tools import RegisteredTool, ToolRegistry

_MADE_UP = "ungrounded_arg"
_FIRST_WORDS = 3
_SHORTEST_VERB = 4
_WORD = re.compile(r"[^\W\d_]+")


def needless_lookups(plan: Plan, problems: Sequence[PlanProblem], registry: ToolRegistry) -> frozenset[str]:
    """The ids of lookups by values that were made up and whose results nothing uses.

    None unless the plan is without problems when they are gone, and without them still a plan.
    """
    found = {problem.step_id for problem in problems if problem.code == _MADE_UP}
    if any(problem.code != _MADE_UP for problem in problems):
        return frozenset()
    used = {dep for step in plan.steps if step.id not in found for dep in step.depends_on}
    lookups = {step.id for step in plan.steps if isinstance(step, ToolStep) and registry.reads(step.tool)}
    useless = frozenset(step.id for step in plan.steps if step.id in found & lookups - used)
    return useless if useless == found and len(useless) < len(plan.steps) else frozenset()


def said_unneeded(plan: Plan, ids: frozenset[str], needs: frozenset[str], registry: ToolRegistry) -> bool:
    """Whether the model named the tools it needs, and none of these steps calls one of them."""
    called = {name for step in plan.steps if step.id in ids for name in step.tool_names}
    return bool(needs) and needs <= registry.keys() and called.isdisjoint(needs)


def without_steps(said: Mapping[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    """A model's plan, whose steps are a list of objects, without those steps and with a note of it."""
    steps = [step for step in said["steps"] if str(step.get("id")).strip() not in ids]
    notes = [
        f"{name}: left out, a lookup by a made-up value whose result nothing uses" for name in sorted(ids)
    ]
    given = said.get("repairs")
    return {**said, "steps": steps, "repairs": [*(given if isinstance(given, list) else []), *notes]}


def forgotten_write(plan: Plan, goal: str, registry: ToolRegistry) -> RegisteredTool | None:
    """The tool that does what the goal's first words name, when the plan only looks things up."""
    names = [name for step in plan.steps for name in step.tool_names]
    if any(not registry.reads(name) for name in names) or not names:
        return None
    asked = [word.casefold() for word in _WORD.findall(goal)[:_FIRST_WORDS] if len(word) >= _SHORTEST_VERB]
    writes = [registry[name] for name in registry.names() if not registry.reads(name)]
    return next((tool for tool in writes if set(asked) & set(_words(tool.name))), None)


def _words(name: str) -> Sequence[str]:
    return [word.casefold() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])", name)]
