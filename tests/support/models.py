"""Chat models that say what a test wants."""

import json
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Object = dict[str, Any]
Line = Object | str | Callable[[str], Object | str]


class ScriptedModel(BaseChatModel):
    """Says its lines in order, the last one ever after; a function of the prompt may stand for one.

    `prompts` are the texts that it was asked. `usage` is what it tells of each call's tokens.
    """

    lines: list[Any]
    prompts: list[str] = Field(default_factory=list)
    usage: UsageMetadata | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = "\n".join(str(message.text) for message in messages)
        line = self.lines[min(len(self.prompts), len(self.lines) - 1)]
        self.prompts.append(prompt)
        said = line(prompt) if callable(line) else line
        text = said if isinstance(said, str) else json.dumps(said)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, usage_metadata=self.usage))])


def says(*lines: Line, usage: UsageMetadata | None = None) -> ScriptedModel:
    """A model that says these texts, or these objects as JSON."""
    return ScriptedModel(lines=list(lines), usage=usage)
