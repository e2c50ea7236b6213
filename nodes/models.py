"""Calling a chat model: bounded in time, retried over soft failures, its tokens counted."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp

from graph.state import Engine
from nodes.decide.retries import Backoff, wait_before_retry
from nodes.endpoint.endings import broke_off, refusal_of
from nodes.endpoint.faults import BAD_RESPONSE, REFUSED, Fault, read_fault
from nodes.endpoint.keys import without_keys
from nodes.endpoint.request import Options, prepared, speaks_openai
from nodes.endpoint.room import told_room
from nodes.ledger import Spent
from nodes.metering import Meter
from tools import CallFailed

BACKOFF_FACTOR = 2.0
NO_OPTIONS = Options()
_MOST_RESIZES = 2
"""How often a try is made again with a smaller cap: one that is told is one that will do."""


@dataclass(frozen=True)
class Ask:
    """How one question is put. `entering` wraps each try (a place under the caps, a journaled intent).

    `on_retry` is told of a try that failed and will be made again, `on_redo` of an answer that goes back.
    """

    model: BaseChatModel
    spent: Spent
    timeout: float
    attempts: int
    max_tokens: int | None = None
    entering: Callable[[int], AbstractAsyncContextManager[Any]] = lambda _try: nullcontext()
    on_retry: Callable[[str], None] = lambda _why: None
    on_redo: Callable[[str], None] = lambda _why: None


async def ask(
    engine: Engine, how: Ask, messages: Sequence[BaseMessage], options: Options = NO_OPTIONS
) -> AIMessage | CallFailed:
    """One reply, or the failure that was left when no further try was allowed."""
    settings = engine.settings
    backoff = Backoff(
        how.attempts, settings.backoff_base, BACKOFF_FACTOR, settings.backoff_cap, settings.retry_after_limit
    )
    options = replace(options, max_tokens=how.max_tokens)
    meter = Meter(settings, how.spent, how.model, messages, options)
    tries = 0
    try:
        while True:
            refused = await meter.reserve()
            if refused is not None:
                return refused
            async with how.entering(tries):
                reply = await _call(engine, how, messages, options, meter)
            tries += 1
            if isinstance(reply, AIMessage) or reply.kind == "hard":
                return reply
            wait = wait_before_retry(backoff, tries, retry_after=reply.retry_after, jitter=engine.jitter())
            if wait is None:
                return reply
            late = how.spent.no_time_for(wait)
            if late is not None:
                return replace(reply, message=f"{reply.message}; {late}")
            how.on_retry(f"{reply.message}; again in {wait:.1f} s")
            await engine.sleep(wait)
    finally:
        meter.close()


async def _call(
    engine: Engine, how: Ask, messages: Sequence[BaseMessage], options: Options, meter: Meter
) -> AIMessage | CallFailed:
    """One try; what the endpoint does not take is left out, or made smaller, from here on, without a wait."""
    facts = engine.endpoints.of(how.model)
    room: int | None = None
    resized = 0
    while True:
        left_out, cap = frozenset(facts.rejected), _least(meter.max_tokens, facts.most_tokens, room)
        fault = await _request(engine, how, messages, replace(options, max_tokens=cap), meter)
        if isinstance(fault, AIMessage):
            meter.answered(fault)
            return _judged(fault)
        meter.unanswered(fault.failed)
        told = told_room(fault.complaint, cap) if cap is not None and resized < _MOST_RESIZES else None
        if told is not None:
            room, resized = told.tokens, resized + 1
            facts.most_tokens = _least(told.tokens, facts.most_tokens) if told.lasting else facts.most_tokens
        # Another call may have had the same parameter refused while this one was under way.
        elif fault.parameter is None or fault.parameter in left_out:
            return fault.failed
        else:
            facts.rejected.add(fault.parameter)
        refused = await meter.reserve()
        if refused is not None:
            return refused


def _least(cap: int | None, *limits: int | None) -> int | None:
    """The cap, no larger than the limits that there are; none where no cap is wanted."""
    return None if cap is None else min([cap, *(limit for limit in limits if limit is not None)])


async def _request(
    engine: Engine, how: Ask, messages: Sequence[BaseMessage], options: Options, meter: Meter
) -> AIMessage | Fault:
    """The reply, or what the failed request means."""
    model, arguments = prepared(how.model, options, engine.endpoints.of(how.model))
    timeout = how.spent.timeout(how.timeout)
    meter.begin()
    try:
        return _as_answer(await asyncio.wait_for(model.ainvoke(list(messages), **arguments), timeout))
    except GraphBubbleUp:
        raise
    except TimeoutError:
        return Fault(CallFailed("soft", "timeout", f"the model did not answer within {timeout:g} s", None))
    except Exception as error:  # noqa: BLE001 (judged, and recorded in the step)
        fault = read_fault(error, speaks_openai=speaks_openai(how.model))
        said = without_keys(fault.failed.message, how.model)
        return fault.answer or replace(fault, failed=replace(fault.failed, message=said))


def _as_answer(reply: BaseMessage) -> AIMessage:
    """The reply as the model's, which it is: some endpoints give it no role, or one of their own."""
    if isinstance(reply, AIMessage):
        return reply
    return AIMessage(reply.content, response_metadata=reply.response_metadata)


def _judged(reply: AIMessage) -> AIMessage | CallFailed:
    """The reply, unless the model refused or its endpoint let nothing or only a part through."""
    refusal = refusal_of(reply)
    if refusal is not None:
        return CallFailed("hard", REFUSED, refusal)
    if broke_off(reply):
        return CallFailed("soft", BAD_RESPONSE, "the model endpoint ended before the answer's end")
    return reply
