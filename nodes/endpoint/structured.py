"""One structured answer of a model, in whichever way its endpoint can give one."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from nodes.endpoint.faults import METHOD_REJECTED
from nodes.endpoint.objects import object_of, said
from nodes.endpoint.request import Options, calls_tools, speaks_openai
from nodes.endpoint.strict import strict_form, without_absent
from nodes.models import Ask, ask
from nodes.replies import BadReply, fitting
from nodes.session import RunSession
from tools import CallFailed

JSON_SCHEMA, FUNCTION_CALLING, JSON_MODE, PROMPT = "json_schema", "function_calling", "json_mode", "prompt"
OUTPUT_REJECTED = "output_rejected"
_UNEXPLAINED = frozenset({"http_400", "http_415", "http_422", "http_501"})

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Form:
    """The shape an answer is to have.

    `schema` is what is sent, in OpenAI's strict subset when `strict`; `told` says the same in words, for
    endpoints that take no schema.
    """

    name: str
    schema: dict[str, Any]
    strict: bool
    told: str

    @classmethod
    def of(cls, schema: Mapping[str, Any], name: str) -> "Form":
        strict = strict_form(schema)
        shown = json.dumps(schema, ensure_ascii=False)
        told = f"Reply with one JSON object, nothing else. It must fit this JSON schema: {shown}"
        return cls(name, dict(schema) if strict is None else strict, strict is not None, told)


async def ask_structured(
    session: RunSession, how: Ask, messages: Sequence[BaseMessage], schema: dict[str, Any], name: str
) -> dict[str, Any] | CallFailed:
    """One object that fits `schema`; what does not fit goes back with the reason.

    Args:
        session: The run's session; its settings say how often an answer may go back.
        how: Model, limits and hooks, as for a plain question.
        messages: The conversation; it need not say anything about the shape.
        schema: JSON Schema of an object.
        name: The answer's name: letters, digits, `_` and `-`.

    Returns:
        The object, or the failure: the call's own, or `output_rejected` when the last answer did not fit.
    """

    def read(answer: dict[str, Any]) -> dict[str, Any]:
        return fitting(without_absent(answer, schema), schema)

    redos = session.settings.redo_attempts
    return await ask_object(session, how, messages, Form.of(schema, name), read=read, redos=redos)


async def ask_object(
    session: RunSession,
    how: Ask,
    messages: Sequence[BaseMessage],
    form: Form,
    *,
    read: Callable[[dict[str, Any]], Answer],
    redos: int,
) -> Answer | CallFailed:
    """What `read` makes of the model's object; a BadReply from it goes back, at most `redos` times.

    One that is final does not.
    """
    asked = list(messages)
    problem = ""
    for _ in range(redos + 1):
        reply = await ask_in_form(session, how, asked, form)
        if isinstance(reply, CallFailed):
            return reply
        try:
            return read(object_of(reply, form.name))
        except BadReply as bad:
            problem = str(bad)
            words = bad.words or f"That does not fit: {problem}. {form.told}"
            asked = afresh(messages, words) if bad.afresh else [*asked, *said(reply), HumanMessage(words)]
            how.on_redo(problem)
            if bad.final:
                break
    return CallFailed("hard", OUTPUT_REJECTED, problem)


def afresh(messages: Sequence[BaseMessage], words: str) -> list[BaseMessage]:
    """The question with these words at its end; some endpoints take no two messages of one side in a row."""
    *before, question = messages
    return [*before, HumanMessage(f"{question.text}\n\n{words}")]


def methods_of(model: BaseChatModel, chosen: str) -> tuple[str, ...]:
    """The ways to try with a model, best first; `chosen` is the setting."""
    if chosen != "auto":
        return (chosen,)
    if speaks_openai(model):
        return (JSON_SCHEMA, FUNCTION_CALLING, JSON_MODE, PROMPT)
    return (FUNCTION_CALLING, PROMPT) if calls_tools(model) else (PROMPT,)


async def ask_in_form(
    session: RunSession, how: Ask, messages: Sequence[BaseMessage], form: Form
) -> AIMessage | CallFailed:
    """One reply by the best method that the endpoint takes; a refused one is not tried again.

    While no method is known to work, of several who ask at once the first finds one for all.
    """
    facts = session.engine.endpoints.of(how.model)
    methods = methods_of(how.model, session.settings.structured_method)
    if facts.works is not None or len(methods) == 1:
        return await _ask_by_method(session, how, messages, form, methods)
    async with facts.finding_method.turn():
        return await _ask_by_method(session, how, messages, form, methods)


async def _ask_by_method(
    session: RunSession, how: Ask, messages: Sequence[BaseMessage], form: Form, methods: tuple[str, ...]
) -> AIMessage | CallFailed:
    facts = session.engine.endpoints.of(how.model)
    failed: CallFailed | None = None
    for method in facts.usable(methods, form.name) or [methods[-1]]:
        asked, options = _told(messages, form, method), _options(form, method)
        reply = await _ask_once_first(session, how, asked, options, known=facts.works == method)
        if isinstance(reply, AIMessage):
            facts.confirm(method)
            return reply
        if reply.code != METHOD_REJECTED and not (reply.code in _UNEXPLAINED and facts.works != method):
            return reply
        facts.refuse(method, form.name)
        failed = reply
    assert failed is not None
    return _no_method(failed, session.settings.structured_method)


async def _ask_once_first(
    session: RunSession, how: Ask, messages: list[BaseMessage], options: Options, *, known: bool
) -> AIMessage | CallFailed:
    """One reply. Where it is not known that tools work, one timeout says that they do not.

    Some servers take a forced tool call and never answer it.
    """
    if known or not options.tools:
        return await ask(session.engine, how, messages, options)
    reply = await ask(session.engine, replace(how, attempts=1), messages, options)
    if isinstance(reply, AIMessage) or reply.kind == "hard":
        return reply
    if reply.code == "timeout":
        return replace(reply, kind="hard", code=METHOD_REJECTED)
    if how.attempts == 1:
        return reply
    return await ask(session.engine, replace(how, attempts=how.attempts - 1), messages, options)


def _no_method(failed: CallFailed, chosen: str) -> CallFailed:
    remedy = (
        "check the model's name and the endpoint's address"
        if chosen == "auto"
        else f"structured_method is {chosen!r}: set it to 'auto'"
    )
    return CallFailed(
        "hard", METHOD_REJECTED, f"the endpoint takes no such request ({failed.message}): {remedy}"
    )


def _options(form: Form, method: str) -> Options:
    if method == JSON_SCHEMA:
        shape = {"name": form.name, "schema": form.schema, "strict": form.strict}
        return Options(response_format={"type": "json_schema", "json_schema": shape})
    if method == FUNCTION_CALLING:
        function = {"name": form.name, "description": "Give the answer.", "parameters": form.schema}
        return Options(tools=({"type": "function", "function": function},), tool_choice=form.name)
    return Options(response_format={"type": "json_object"}) if method == JSON_MODE else Options()


def _told(messages: Sequence[BaseMessage], form: Form, method: str) -> list[BaseMessage]:
    """The messages, with the shape in words where no schema goes along; one system message, at the front."""
    if method in (JSON_SCHEMA, FUNCTION_CALLING):
        return list(messages)
    first, *rest = messages
    if isinstance(first, SystemMessage) and isinstance(first.content, str):
        return [SystemMessage(f"{first.content}\n\n{form.told}"), *rest]
    return [SystemMessage(form.told), *messages]
