"""A model that counts its tokens and obeys a cap, and plans to spend on."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PrivateAttr

from nodes.decide.budget import MESSAGE_TOKENS, estimated_tokens
from tests.support.models import SpeakingLater, prompt_of
from tools import SoftToolError, policy


class Counting(SpeakingLater):
    """Answers with `say`, tells what it took, and never takes more for the answer than it is allowed."""

    model_name: str = "counting"
    say: Callable[[str], str] = lambda _asked: "done"
    answer_tokens: int = 40
    tells: bool = True
    delay: float = 0.0
    _calls: int = PrivateAttr(default=0)
    _tokens: int = PrivateAttr(default=0)
    _running: int = PrivateAttr(default=0)
    _most: int = PrivateAttr(default=0)
    _begun: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @property
    def calls(self) -> int:
        return self._calls

    @property
    def tokens(self) -> int:
        return self._tokens

    @property
    def most_at_once(self) -> int:
        return self._most

    @property
    def begun(self) -> asyncio.Event:
        """Set once a call is under way."""
        return self._begun

    async def reply(self, messages: Sequence[BaseMessage], more: Mapping[str, Any]) -> AIMessage:
        self._calls += 1
        self._begun.set()
        self._running += 1
        self._most = max(self._most, self._running)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self._running -= 1
        prompt = sum(estimated_tokens(str(message.text)) + MESSAGE_TOKENS for message in messages)
        output = min(self.answer_tokens, more.get("max_tokens") or self.answer_tokens)
        self._tokens += prompt + output
        usage: Any = {"input_tokens": prompt, "output_tokens": output, "total_tokens": prompt + output}
        return AIMessage(self.say(prompt_of(messages)), usage_metadata=usage if self.tells else None)


def think(step_id: str, *after: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "llm", "instruction": f"think {step_id}", "depends_on": after, **fields}


def call(step_id: str, tool: str, *after: str, **fields: Any) -> dict[str, Any]:
    args = fields.pop("args", {"what": step_id})
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": after, **fields}


def plan_of(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"goal": "spend", "plan": {"goal": "spend", "steps": list(steps)}}


class Office:
    """Tools that write down their calls."""

    def __init__(self) -> None:
        """Nothing was called yet."""
        self.calls: list[str] = []

    def tools(self) -> list[Any]:
        @policy(effect="read", backoff_base=0)
        async def look(what: str) -> str:
            """Look something up."""
            self.calls.append(what)
            await asyncio.sleep(0)
            return what

        @policy(effect="read", backoff_base=0, max_attempts=5)
        async def fail(what: str) -> str:
            """Be busy whenever asked."""
            self.calls.append(what)
            raise SoftToolError("busy")

        @policy(effect="read", timeout=20, backoff_base=0)
        async def doze(what: str) -> str:
            """Take long."""
            self.calls.append(what)
            await asyncio.sleep(20)
            return what

        @policy(effect="write", idempotent=True, risk="low")
        async def put(what: str) -> str:
            """Write something."""
            self.calls.append(what)
            return what

        return [look, fail, doze, put]
