"""An agent's next turn, by tool calling or as one structured object, whichever its endpoint can do."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph.plan import AgentStep
from graph.state import EndpointFacts
from nodes.books import charged
from nodes.decide.agent import Action, Finish, Turn, as_text, next_schema, read_next, told, written_call
from nodes.endpoint.faults import METHOD_REJECTED
from nodes.endpoint.objects import said
from nodes.endpoint.request import Options, calls_tools
from nodes.endpoint.structured import Form, ask_object
from nodes.lanes.asking import ask_for
from nodes.lanes.conditions import Expects, expectation, expected
from nodes.lanes.run import StepRun
from nodes.models import Ask, ask
from nodes.prompts import data_block
from nodes.replies import BadReply, json_object_in, read_step_output, storable
from tools import CallFailed, RegisteredTool

NO_MORE = "There are no more tool calls. Give the result from what you have."

_NO_TOOLS = frozenset({METHOD_REJECTED, "http_400", "http_415", "http_422", "http_501"})
"""How endpoints refuse a request with tools; not all say that it is for the tools."""
NOT_A_RESULT = "a tool call written as text is no result"

Next = list[Action] | Finish | CallFailed


async def next_turn(
    run: StepRun,
    step: AgentStep,
    opening: Sequence[BaseMessage],
    turns: Sequence[Turn],
    tools: Sequence[RegisteredTool],
) -> Next:
    """What the agent does next.

    Args:
        run: The step's execution.
        step: The step.
        opening: The conversation's beginning.
        turns: What was called so far.
        tools: What may still be called; nothing when only the result is left to give.
    """
    how = agent_ask(run, step)
    expects = await expectation(run.session, run.work)
    found = await _by_tools_first(run, step, how, [*opening, *_as_calls(run, turns)], tools, expects=expects)
    if found is not None:
        return found
    messages = [*opening, *_as_objects(run, turns), *([] if tools else [HumanMessage(NO_MORE)])]
    form = Form.of(next_schema(step, tools), "next_step")
    redos = run.session.settings.redo_attempts

    def read(answer: dict[str, Any]) -> Action | Finish:
        return _decided(step, answer, tools, expects)

    chosen = await ask_object(run.session, how, messages, form, read=read, redos=redos)
    return [chosen] if isinstance(chosen, Action) else chosen


async def _by_tools_first(
    run: StepRun,
    step: AgentStep,
    how: Ask,
    messages: list[BaseMessage],
    tools: Sequence[RegisteredTool],
    *,
    expects: Expects,
) -> Next | None:
    """The next turn by tool calling, where that is the way; while nobody knows, one agent finds it out."""
    method = run.session.settings.agent_method
    facts = run.session.engine.endpoints.of(how.model)
    if method == "structured" or (method == "auto" and not calls_tools(how.model)):
        return None
    unknown = method == "auto" and facts.calls_tools is None
    async with facts.finding_tools.turn() if unknown else nullcontext():
        if method == "auto" and facts.calls_tools is False:
            return None
        return await _by_calling(run, step, how, messages, tools, expects=expects)


async def _by_calling(
    run: StepRun,
    step: AgentStep,
    how: Ask,
    messages: list[BaseMessage],
    tools: Sequence[RegisteredTool],
    *,
    expects: Expects,
) -> Next | None:
    """The next turn by tool calling; None when the endpoint turns out not to do it."""
    facts = run.session.engine.endpoints.of(how.model)
    asked = messages if tools else [*messages, HumanMessage(NO_MORE)]
    options = Options(tools=tuple(_declared(tool) for tool in tools))
    auto = run.session.settings.agent_method == "auto"
    problem = ""
    for _ in range(run.session.settings.redo_attempts + 1):
        reply = await ask(run.session.engine, how, asked, options)
        if isinstance(reply, CallFailed):
            if auto and facts.calls_tools is None and reply.code in _NO_TOOLS:
                facts.calls_tools = False
                return None
            return reply
        written = not reply.tool_calls and _writes_calls(reply, run.session.engine.tools_of(step))
        if written and auto:  # a small model may do so after it has called tools as one should
            facts.calls_tools = False if tools else facts.calls_tools
            return None
        try:
            if written:
                raise BadReply(NOT_A_RESULT)
            return _read(step, reply, tools, facts, expects)
        except BadReply as bad:
            problem = str(bad)
            how.on_redo(problem)
            asked = [*asked, *said(reply), HumanMessage(f"That does not fit: {problem}. Answer again.")]
    return CallFailed("hard", "output_rejected", problem)


def _read(
    step: AgentStep,
    reply: AIMessage,
    tools: Sequence[RegisteredTool],
    facts: EndpointFacts,
    expects: Expects,
) -> list[Action] | Finish:
    if tools and reply.tool_calls:
        facts.calls_tools = True
        return [Action(call["name"], storable(dict(call["args"]))) for call in reply.tool_calls]
    if tools and reply.invalid_tool_calls:
        raise BadReply(f"the arguments of {reply.invalid_tool_calls[0]['name']} are no JSON object")
    return Finish(expected(read_step_output(step, reply), expects))


def _decided(
    step: AgentStep, answer: dict[str, Any], tools: Sequence[RegisteredTool], expects: Expects
) -> Action | Finish:
    found = read_next(step, answer)
    if isinstance(found, Finish):
        expected(found.output, expects)
    elif not tools:
        raise BadReply(NO_MORE)
    return found


def _writes_calls(reply: AIMessage, tools: Sequence[RegisteredTool]) -> bool:
    """Whether the reply is a tool call written as text, as models without tool calling do."""
    try:
        return written_call(json_object_in(str(reply.text)), tools)
    except BadReply:
        return False


def _declared(tool: RegisteredTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.args_schema}
    return {"type": "function", "function": function}


def _as_calls(run: StepRun, turns: Sequence[Turn]) -> list[BaseMessage]:
    limit = run.session.settings.digest_chars
    messages: list[BaseMessage] = []
    for at, turn in enumerate(turns):
        call = {"name": turn.action.tool, "args": turn.action.args, "id": f"call_{at}", "type": "tool_call"}
        messages.append(AIMessage("", tool_calls=[call]))
        messages.append(
            ToolMessage(data_block(turn.action.tool, told(turn), limit), tool_call_id=f"call_{at}")
        )
    return messages


def _as_objects(run: StepRun, turns: Sequence[Turn]) -> list[BaseMessage]:
    limit = run.session.settings.digest_chars
    return [
        message
        for turn in turns
        for message in (
            AIMessage(as_text(turn.action)),
            HumanMessage(data_block(turn.action.tool, told(turn), limit)),
        )
    ]


def agent_ask(run: StepRun, step: AgentStep) -> Ask:
    """How the agent's model is asked; what it takes is written on the step's entry before each call."""

    def before(_tries: int) -> None:
        run.entry = charged(run.entry, run.spent.committed)

    return replace(ask_for(run, step, before), on_redo=lambda why: run.emit("step_redo", why))
