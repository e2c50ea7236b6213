"""A plan as people see it: without the values of arguments that a tool's policy keeps secret."""

from collections.abc import Mapping, Sequence
from typing import Any

from graph.plan import Plan
from tools import ToolRegistry
from tools.scrub import redacted

Hidden = Mapping[str, Sequence[str]]


def hidden_args(plan: Plan | Mapping[str, Any], registry: ToolRegistry) -> dict[str, list[str]]:
    """The names of secret arguments by step id, for the steps of a plan, or of its JSON, that have any."""
    secret = {name: sorted(tool.policy.redact) for name, tool in registry.items() if tool.policy.redact}
    if not secret:
        return {}
    steps: Any = plan.to_json()["steps"] if isinstance(plan, Plan) else plan["steps"]
    return {step["id"]: secret[step["tool"]] for step in steps if step.get("tool") in secret}


def shown_plan(plan: Mapping[str, Any], hidden: Hidden) -> dict[str, Any]:
    """The JSON of a plan with those arguments' values replaced, at any depth."""
    return {**plan, "steps": [_shown_step(step, hidden.get(step["id"], ())) for step in plan["steps"]]}


def _shown_step(step: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    shown = dict(step)
    if names and "args" in shown:
        shown["args"] = redacted(shown["args"], frozenset(names))
    return shown
