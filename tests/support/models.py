"""Chat models that say what a test wants."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Object = dict[str, Any]
Line = Object | str | Callable[[str], Object | str]


class Speaking(BaseChatModel):
    """A chat model that is one function: what it replies to messages."""

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """What it says; what it raises is the call's failure."""
        raise NotImplementedError

    @property
    def _llm_type(self) -> str:
        return "speaking"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self.reply(messages))


class SpeakingLater(BaseChatModel):
    """The same for a graph that asks asynchronously, and with what else the call is given."""

    async def reply(self, messages: Sequence[BaseMessage], more: Mapping[str, Any]) -> AIMessage:
        """What it says; what it raises is the call's failure."""
        raise NotImplementedError

    @property
    def _llm_type(self) -> str:
        return "speaking later"

    def _generate(self, *_args: Any, **_kwargs: Any) -> ChatResult:
        raise NotImplementedError("the graph asks it asynchronously")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(await self.reply(messages, kwargs))


class ScriptedModel(Speaking):
    """Says its lines in order, the last one ever after; a function of the prompt may stand for one.

    `prompts` are the texts that it was asked. `usage` is what it tells of each call's tokens.
    """

    lines: list[Any]
    prompts: list[str] = Field(default_factory=list)
    usage: UsageMetadata | None = None

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        prompt = prompt_of(messages)
        line = self.lines[min(len(self.prompts), len(self.lines) - 1)]
        self.prompts.append(prompt)
        said = line(prompt) if callable(line) else line
        return AIMessage(said if isinstance(said, str) else json.dumps(said), usage_metadata=self.usage)


def says(*lines: Line, usage: UsageMetadata | None = None) -> ScriptedModel:
    """A model that says these texts, or these objects as JSON."""
    return ScriptedModel(lines=list(lines), usage=usage)


def prompt_of(messages: Sequence[BaseMessage]) -> str:
    """The text of all messages, one below the other."""
    return "\n".join(str(message.text) for message in messages)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
