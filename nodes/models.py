"""Calling a chat model: bounded in time, retried over soft failures, its tokens counted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphBubbleUp

from graph.state import Engine
from nodes.decide.retries import Backoff, wait_before_retry
from nodes.lanes.results import Result
from tools import CallFailed, ToolPolicy, classify

MODEL_POLICY = ToolPolicy(effect="read", idempotent=True)

BACKOFF_FACTOR = 2.0


@dataclass
class Spent:
    """Calls and tokens so far; a token count is None once one call did not tell its own."""

    model_calls: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0

    def add(self, reply: AIMessage) -> None:
        usage: Mapping[str, Any] = reply.usage_metadata or {}
        self.input_tokens = _plus(self.input_tokens, usage.get("input_tokens"))
        self.output_tokens = _plus(self.output_tokens, usage.get("output_tokens"))

    def on(self, result: Result) -> Result:
        """`result` with what was spent written on it."""
        return replace(
            result,
            model_calls=self.model_calls,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
        )

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def _plus(total: int | None, count: Any) -> int | None:
    return total + count if total is not None and isinstance(count, int) else None


@dataclass(frozen=True)
class Ask:
    """How one question is put. `entering` wraps each try (a place under the caps, a journaled intent)."""

    model: BaseChatModel
    spent: Spent
    timeout: float
    attempts: int
    max_tokens: int | None = None
    entering: Callable[[int], AbstractAsyncContextManager[Any]] = lambda _try: nullcontext()
    on_retry: Callable[[str], None] = lambda _why: None


async def ask(engine: Engine, how: Ask, messages: Sequence[BaseMessage]) -> AIMessage | CallFailed:
    """One reply, or the failure that was left when no further try was allowed."""
    settings = engine.settings
    backoff = Backoff(
        how.attempts, settings.backoff_base, BACKOFF_FACTOR, settings.backoff_cap, settings.retry_after_limit
    )
    tries = 0
    while True:
        async with how.entering(tries):
            reply = await _call(how, messages)
        tries += 1
        if isinstance(reply, AIMessage) or reply.kind == "hard":
            return reply
        wait = wait_before_retry(backoff, tries, retry_after=reply.retry_after, jitter=engine.jitter())
        if wait is None:
            return reply
        how.on_retry(f"{reply.message}; again in {wait:.1f} s")
        await engine.sleep(wait)


async def _call(how: Ask, messages: Sequence[BaseMessage]) -> AIMessage | CallFailed:
    options: dict[str, Any] = {} if how.max_tokens is None else {"max_tokens": how.max_tokens}
    how.spent.model_calls += 1
    try:
        reply = await asyncio.wait_for(how.model.ainvoke(list(messages), **options), how.timeout)
    except GraphBubbleUp:
        raise
    except TimeoutError:
        return CallFailed("soft", "timeout", f"the model did not answer within {how.timeout:g} s", None)
    except Exception as error:  # noqa: BLE001 (classified, and recorded in the step)
        found = classify(error, MODEL_POLICY)
        return CallFailed(found.kind, found.code, found.message, found.retry_after)
    how.spent.add(reply)
    return reply
