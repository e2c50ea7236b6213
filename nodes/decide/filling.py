"""Arguments that are chosen when a step runs: what is asked, and what an answer must satisfy."""

from collections.abc import Iterable, Mapping
from typing import Any

from checkpoints import StepEntry
from graph.plan import Sources, StepStatus, call_digest
from tools import RegisteredTool


def filling_schema(tool: RegisteredTool, names: Iterable[str]) -> dict[str, Any]:
    """The shape of the answer: the open arguments under the tool's own schema."""
    schema = tool.args_schema
    properties = {name: schema["properties"].get(name, {}) for name in names}
    shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name in schema.get("required", ())],
        "additionalProperties": False,
        **shared,
    }


def filling_fault(
    tool: RegisteredTool,
    args: Mapping[str, Any],
    filled: Mapping[str, Any],
    sources: Sources,
    entries: Iterable[StepEntry],
) -> str | None:
    """Why the filled arguments must not be used, in words for the model; None when they may.

    Args:
        tool: The step's tool.
        args: All arguments of the call, the filled ones among them.
        filled: Those that the model chose.
        sources: What ids, addresses and amounts may be taken from.
        entries: The run's entries so far; what failed or is done is not to be repeated.
    """
    problems = tool.args_problems(args)
    if problems:
        return "; ".join(f"{name}: {text}" if name else text for name, text in problems)
    for name in sorted(tool.grounded & filled.keys()):
        for made_up in sources.lacks(filled[name]):
            return f"{made_up!r} as {name} is neither in a result nor in the task; do not make it up"
    return tool.denied(args) or repetition(tool, args, entries)


def repetition(tool: RegisteredTool, args: Mapping[str, Any], entries: Iterable[StepEntry]) -> str | None:
    """Why a call must not be made again: it failed for good, or it wrote and is done. None otherwise."""
    digest = call_digest(tool.name, tool.redacted(args))
    for entry in entries:
        if entry.tool != tool.name or not isinstance(entry.input, dict):
            continue
        if call_digest(tool.name, entry.input) != digest:
            continue
        if entry.status is StepStatus.FAILED and entry.error is not None and entry.error.kind == "hard":
            return f"{tool.name} with the same arguments has failed: {entry.error.message}"
        if entry.status is StepStatus.SUCCEEDED and tool.effect == "write":
            return f"{tool.name} with the same arguments is already done"
    return None
