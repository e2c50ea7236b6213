"""An agent's turns: what it may do next, what it is answered, and what it is refused."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoints import StepEntry
from graph.plan import AgentStep, Sources
from nodes.decide.filling import repetition
from nodes.endpoint.inner_schema import as_part
from nodes.replies import BadReply, fitting_answer
from tools import RegisteredTool

_WRAPPED = "next"
_SAME_AT_MOST = 3


@dataclass(frozen=True)
class Action:
    """A tool that the agent wants called."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Finish:
    """The agent's result."""

    output: Any


@dataclass(frozen=True)
class Turn:
    """A call that was made, or refused, and what came of it."""

    action: Action
    output: Any = None
    error: str | None = None


def next_schema(step: AgentStep, tools: Sequence[RegisteredTool]) -> dict[str, Any]:
    """The shape of the next turn: one tool with its arguments, or the result. Without tools, the result."""
    wanted, shared = as_part(_result_schema(step), "result")
    result = _closed({"result": wanted})
    if not tools:
        return _with_shared(result, [shared])
    parts = [as_part(_arguments(tool), f"tool{at}") for at, tool in enumerate(tools, 1)]
    calls = [
        _closed({"tool": {"enum": [tool.name]}, "args": args})
        for tool, (args, _) in zip(tools, parts, strict=True)
    ]
    whole = _closed({_WRAPPED: {"anyOf": [*calls, result]}})
    return _with_shared(whole, [shared, *(own for _, own in parts)])


def _result_schema(step: AgentStep) -> dict[str, Any]:
    if step.choices is not None:
        return {"enum": list(step.choices)}
    return step.output_schema if step.output_schema is not None else {"type": "string"}


def _with_shared(whole: dict[str, Any], definitions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    shared = {name: part for each in definitions for name, part in each.items()}
    return {**whole, "$defs": shared} if shared else whole


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _arguments(tool: RegisteredTool) -> dict[str, Any]:
    return {key: part for key, part in tool.args_schema.items() if key not in ("description", "title")}


def read_next(step: AgentStep, answer: Mapping[str, Any]) -> Action | Finish:
    """The agent's next turn from its object, wrapped or bare; raises BadReply."""
    wrapped = answer.get(_WRAPPED)
    said = wrapped if isinstance(wrapped, Mapping) else answer
    name, args = said.get("tool", said.get("name")), said.get("args", said.get("arguments"))
    if isinstance(name, str) and name and said.get("result") is None:
        if not isinstance(args, Mapping | None):
            raise BadReply("args must be an object with the tool's arguments")
        return Action(name, {str(key): value for key, value in (args or {}).items()})
    if said.get("result") is None:
        raise BadReply('give {"tool": ..., "args": {...}} or {"result": ...}')
    return Finish(fitting_answer(step, said["result"]))


def written_call(answer: Any, tools: Sequence[RegisteredTool]) -> bool:
    """Whether an object that a model wrote as text is meant as a tool call."""
    if not isinstance(answer, Mapping):
        return False
    said = answer.get(_WRAPPED, answer)
    name = said.get("tool", said.get("name")) if isinstance(said, Mapping) else None
    return isinstance(name, str) and name in {tool.name for tool in tools}


def refusal(
    action: Action,
    tools: Sequence[RegisteredTool],
    sources: Sources,
    entries: Iterable[StepEntry],
    *,
    approved: bool,
) -> tuple[str, str] | None:
    """Why a call is not made, as code and words for the model; None when it may be.

    Args:
        action: What the agent wants.
        tools: What it may use.
        sources: What ids, addresses and amounts may be taken from.
        entries: The run's entries; what failed or is done is not to be repeated.
        approved: Whether a person has approved the step as a whole.
    """
    tool = next((each for each in tools if each.name == action.tool), None)
    if tool is None:
        return "unknown_tool", f"there is no tool {action.tool!r}; the tools are {_names(tools)}"
    asking = None if approved else tool.needs_approval(action.args)
    found = {
        "bad_args": _faults(tool, action.args),
        "ungrounded_arg": _made_up(tool, action.args, sources),
        "forbidden": tool.denied(action.args),
        "not_approved": f"{asking}; nobody has approved this call, do without it" if asking else None,
        "repeated": repetition(tool, action.args, entries),
    }
    return next(((code, words) for code, words in found.items() if words), None)


def _faults(tool: RegisteredTool, args: Mapping[str, Any]) -> str | None:
    problems = tool.args_problems(args)
    if problems:
        return "; ".join(f"{name}: {text}" if name else text for name, text in problems)
    secret = tool.redacted(args) != args
    return f"a secret argument of {tool.name} is given by no agent; do without the call" if secret else None


def _made_up(tool: RegisteredTool, args: Mapping[str, Any], sources: Sources) -> str | None:
    for name in sorted(tool.grounded & args.keys()):
        for made_up in sources.lacks(args[name]):
            return f"{made_up!r} as {name} is neither in a result nor in the task; do not make it up"
    return None


def goes_round(turns: Sequence[Turn]) -> bool:
    """Whether the agent wants the same for the third time, having been told twice what comes of it."""
    return bool(turns) and sum(turn.action == turns[-1].action for turn in turns) >= _SAME_AT_MOST


def earlier(action: Action, turns: Sequence[Turn]) -> Turn | None:
    """The same call made before, with its output."""
    return next((turn for turn in turns if turn.action == action and turn.error is None), None)


def _names(tools: Sequence[RegisteredTool]) -> str:
    return ", ".join(tool.name for tool in tools)


def told(turn: Turn) -> Any:
    """What the agent is shown of a turn's outcome."""
    return turn.output if turn.error is None else f"error: {turn.error}"


def as_text(action: Action) -> str:
    return json.dumps({"tool": action.tool, "args": action.args}, ensure_ascii=False)
