"""A plan as people see it: without the values of arguments that a tool's policy keeps secret."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from graph.plan import Plan
from tools import ToolRegistry
from tools.scrub import redacted

Hidden = Mapping[str, Sequence[str]]

_CALLS = ("fallback", "compensate")


def hidden_args(plan: Plan | Mapping[str, Any], registry: ToolRegistry) -> dict[str, list[str]]:
    """The names of secret arguments by step id, for the steps of a plan, or of its JSON, that have any."""
    secret = {name: tool.policy.redact for name, tool in registry.items() if tool.policy.redact}
    if not secret:
        return {}
    steps: Any = plan.to_json()["steps"] if isinstance(plan, Plan) else plan["steps"]
    found = {step["id"]: [name for tool in _tools(step) for name in secret.get(tool, ())] for step in steps}
    return {step_id: sorted(set(names)) for step_id, names in found.items() if names}


def _tools(step: Mapping[str, Any]) -> Iterator[str]:
    """The tools whose arguments stand in a step: its own, those beside it, those of a map's items."""
    for call in (step, *(step[name] for name in _CALLS if name in step)):
        yield from (call["tool"],) if "tool" in call else ()
    yield from _tools(step["step"]) if "step" in step else ()


def shown_plan(plan: Mapping[str, Any], hidden: Hidden) -> dict[str, Any]:
    """The JSON of a plan with those arguments' values replaced, at any depth."""
    return {**plan, "steps": [_shown_step(step, hidden.get(step["id"], ())) for step in plan["steps"]]}


def _shown_step(step: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    shown = dict(step)
    if not names:
        return shown
    for name in ("args", "over"):
        if name in shown:
            shown[name] = redacted(shown[name], frozenset(names))
    for name in ("step", *_CALLS):
        if name in shown:
            shown[name] = _shown_step(shown[name], names)
    return shown
