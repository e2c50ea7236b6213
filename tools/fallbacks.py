"""Whether one tool can take another's place: judged when tools are registered, before anything runs."""

from collections.abc import Mapping

from tools.errors import ToolSetupError
from tools.policy import STALE_CACHE
from tools.registered import RegisteredTool


def check_fallbacks(tools: Mapping[str, RegisteredTool]) -> None:
    """Refuse policies whose fallback could not run, or would be less careful than the tool itself.

    Raises:
        ToolSetupError: A fallback is missing or does not fit; the message says why and what to do.
    """
    for tool in tools.values():
        for name in tool.policy.fallback_tools:
            fault = _fault(tool, name, tools.get(name))
            if fault is not None:
                raise ToolSetupError(f"{tool.name!r} cannot fall back to {name!r}: {fault}")


def _fault(tool: RegisteredTool, name: str, other: RegisteredTool | None) -> str | None:
    if other is None:
        return f"there is no such tool; register it, or write {STALE_CACHE!r} for older results"
    if other.name == tool.name:
        return "it is the tool itself; raise max_attempts instead"
    if other.effect != tool.effect:
        return f"the one is a {tool.effect}, the other a {other.effect}"
    return _less_careful(tool, other) or _unfit_args(tool, other)


def _less_careful(tool: RegisteredTool, other: RegisteredTool) -> str | None:
    if other.risk.rank > tool.risk.rank:
        return f"its risk is {other.risk.value}, and who approves {tool.name!r} would not be asked about that"
    if other.policy.money and not tool.policy.money:
        return "it moves money, and its results would not be checked as such; declare money=True here too"
    shown = sorted(tool.policy.redact - other.policy.redact)
    if shown:
        return f"its policy does not redact {shown[0]!r}, which is secret here; redact it there too"
    made_up = sorted(other.grounded - tool.grounded)
    if made_up:
        return f"it grounds {made_up[0]!r}, which is not grounded here; ground it here too"
    return None


def _unfit_args(tool: RegisteredTool, other: RegisteredTool) -> str | None:
    given, taken = _properties(tool), _properties(other)
    if not other.args_schema.get("additionalProperties"):
        strange = sorted(given.keys() - taken.keys())
        if strange:
            return f"it takes no argument {strange[0]!r}"
    missing = sorted(_required(other) - _required(tool))
    if missing:
        return f"it needs {missing[0]!r}, which a call of {tool.name!r} may lack"
    for arg in sorted(given.keys() & taken.keys()):
        kinds = given[arg].get("type"), taken[arg].get("type")
        if all(isinstance(kind, str) for kind in kinds) and kinds[0] != kinds[1]:
            return f"its argument {arg!r} is of type {kinds[1]}, here it is {kinds[0]}"
    return None


def _properties(tool: RegisteredTool) -> Mapping[str, Mapping[str, object]]:
    found = tool.args_schema.get("properties", {})
    return {name: part if isinstance(part, Mapping) else {} for name, part in found.items()}


def _required(tool: RegisteredTool) -> frozenset[str]:
    return frozenset(tool.args_schema.get("required", ()))
