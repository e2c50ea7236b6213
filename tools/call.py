"""The guarded call of a tool: everything around one attempt that code, not the model, answers for."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from jsonschema.exceptions import best_match
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from pydantic import ValidationError

from graph.plan import JSON
from graph.plan.json_schema import validator_of
from tools.attempt import Attempt, Call, Raised, Returned, TimedOut, attempt
from tools.classify import classify, describe
from tools.errors import UnsupportedResult
from tools.guard import Probe, is_async
from tools.outcomes import CallFailed, CallOutcome, CallSucceeded, FailureKind
from tools.policy import ToolPolicy
from tools.registered import RegisteredTool
from tools.results import content_value, paired_value, to_json
from tools.scrub import scrubbed, trimmed


async def call_tool(
    tool: RegisteredTool,
    args: Mapping[str, JSON],
    *,
    key: str | None,
    timeout: float | None = None,
    config: RunnableConfig | None = None,
) -> CallOutcome:
    """Call a tool once and say what came of it; no fault of the tool leaves as an exception.

    Args:
        tool: The tool.
        args: Resolved arguments, no references in them.
        key: The idempotency key, handed to tools that ask for it.
        timeout: Seconds; None means the policy's.
        config: LangChain's run configuration, for tracing and LangGraph's interrupts.

    Returns:
        The output as JSON, or the failure with what may follow it.

    Raises:
        GraphBubbleUp: The tool asked LangGraph for an interrupt.
        asyncio.CancelledError: The caller itself was cancelled.
    """
    decoded = tool.decode_args(args)
    refusal = _refusal(tool, decoded, key)
    if refusal is None:
        limit = tool.policy.timeout if timeout is None else timeout
        probe = Probe()
        result = await attempt(_call(tool, _tool_input(tool, decoded, key), limit, config), probe)
        outcome = _outcome(tool, result, probe, limit)
    else:
        outcome = refusal
    return _presentable(outcome, decoded, tool.policy) if isinstance(outcome, CallFailed) else outcome


def _refusal(tool: RegisteredTool, args: Mapping[str, JSON], key: str | None) -> CallFailed | None:
    """Return why the call must not be made, judged before the tool is touched."""
    problems = tool.args_problems(args)
    if problems:
        code = "injected_arg" if any(name in tool.injected for name, _ in problems) else "bad_args"
        words = "; ".join(_problem(*problem) for problem in problems)
        return CallFailed("hard", code, words, nothing_happened=True)
    denial = tool.denied(args)
    if denial is not None:
        return CallFailed("hard", "forbidden", denial, nothing_happened=True)
    if tool.key_argument is not None and key is None:
        words = f"{tool.name} needs an idempotency key and was given none"
        return CallFailed("hard", "no_key", words, nothing_happened=True)
    return None


def _problem(name: str, message: str) -> str:
    return f"{name}: {message}" if name else message


def _tool_input(tool: RegisteredTool, args: dict[str, JSON], key: str | None) -> dict[str, Any]:
    given: dict[str, Any] = dict(args)
    if tool.key_argument is not None:
        given[tool.key_argument] = key
    # LangChain takes arguments with "type": "tool_call" for a whole tool call and believes what is inside.
    if tool.call_id_argument is not None or given.get("type") == "tool_call":
        return {"type": "tool_call", "id": key or tool.name, "name": tool.name, "args": given}
    return given


def _call(
    tool: RegisteredTool, tool_input: dict[str, Any], limit: float, config: RunnableConfig | None
) -> Call:
    on_loop = is_async(tool.tool)
    invoke = tool.tool.ainvoke if on_loop else tool.tool.invoke
    return Call(f"tool {tool.name}", partial(invoke, tool_input, config), on_loop, limit)


def _outcome(tool: RegisteredTool, result: Attempt, probe: Probe, limit: float) -> CallOutcome:
    match result:
        case TimedOut():
            message = f"{tool.name} gave no answer within {limit:g} s"
            return CallFailed(_doubtful(tool.policy), "timeout", message)
        case Raised(error) if probe.came_back and not isinstance(error, GraphBubbleUp):
            # The tool has done its work; it is only LangChain that will not have the answer in this form.
            return _answer(tool, probe.returned, probe)
        case Raised(error):
            return _failure(tool, error, probe)
        case Returned(value):
            return _answer(tool, value, probe)


def _doubtful(policy: ToolPolicy) -> FailureKind:
    return "soft" if policy.repeatable else "unknown"


def _failure(tool: RegisteredTool, error: BaseException, probe: Probe) -> CallFailed:
    if isinstance(error, GraphBubbleUp):
        raise error
    if isinstance(error, BaseExceptionGroup) and (inner := error.subgroup(GraphBubbleUp)) is not None:
        raise inner.exceptions[0]
    if isinstance(error, ValidationError) and not probe.entered:
        code, words = _validation_fault(tool, error)
        return CallFailed("hard", code, words, nothing_happened=True)
    return classify(error, tool.policy)


def _validation_fault(tool: RegisteredTool, error: ValidationError) -> tuple[str, str]:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lacking = [str(fault["loc"][0]) for fault in faults if fault["loc"] and fault["loc"][0] in tool.injected]
    if lacking:
        return "not_injected", (
            f"{tool.name} wants {', '.join(lacking)} from an agent's loop, which a planned call does not "
            "have: give it a default, or leave it out"
        )
    return "bad_args", "; ".join(_problem(".".join(map(str, fault["loc"])), fault["msg"]) for fault in faults)


def _answer(tool: RegisteredTool, value: object, probe: Probe) -> CallOutcome:
    handled = _handled_error(tool, value, probe)
    if handled is not None:
        return handled
    try:
        output = to_json(_result(tool, value, probe))
    except UnsupportedResult as error:
        # A write that came back has happened, however little its answer says.
        kind: FailureKind = "hard" if tool.policy.effect == "read" else "unknown"
        return CallFailed(kind, error.code, describe(error))
    return incomplete(tool.policy, output) or CallSucceeded(output)


def _handled_error(tool: RegisteredTool, value: object, probe: Probe) -> CallFailed | None:
    """Recognise a failure that LangChain's `handle_tool_error` and the like turned into a result."""
    if isinstance(probe.raised, Exception):
        found = classify(probe.raised, tool.policy)
        return replace(found, message=_shown(value) or found.message)
    if not probe.entered and tool.tool.handle_validation_error:
        return CallFailed("hard", "bad_args", _shown(value) or "the arguments do not fit the tool")
    returned = probe.returned
    if isinstance(returned, ToolMessage) and returned.status == "error":
        return CallFailed("hard", "tool_error", _shown(returned) or "the tool reported an error")
    return None


def _shown(value: object) -> str:
    content = content_value(value.content if isinstance(value, ToolMessage) else value)
    return content.strip() if isinstance(content, str) else str(content)


def _result(tool: RegisteredTool, value: object, probe: Probe) -> object:
    raw = probe.returned if probe.entered else value
    if tool.tool.response_format == "content_and_artifact" and isinstance(raw, tuple) and len(raw) == 2:  # noqa: PLR2004
        return paired_value(*raw)
    return raw


def incomplete(policy: ToolPolicy, output: JSON) -> CallFailed | None:
    """Judge an output by the policy's schema; a write that may not be repeated is then in doubt."""
    if policy.output_schema is None:
        return None
    worst = best_match(validator_of(policy.output_schema).iter_errors(output))
    if worst is None:
        return None
    message = f"the result does not satisfy the output schema at {worst.json_path}: {worst.message}"
    return CallFailed(_doubtful(policy), "incomplete_output", message)


def _presentable(failure: CallFailed, args: Mapping[str, JSON], policy: ToolPolicy) -> CallFailed:
    message = trimmed(scrubbed(failure.message, args, policy.redact)) or failure.code
    return replace(failure, message=message)
