"""Tools and template files of the tests."""

from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # the distribution has no types
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from tools import policy

GREETING: dict[str, Any] = {
    "name": "greeting",
    "version": 2,
    "description": "greet somebody some times",
    "params": {
        "who": {"type": "str", "description": "whom to greet"},
        "times": {"type": "int", "default": 1},
        "tone": {"type": "enum", "choices": ["warm", "cool"], "default": "warm"},
    },
    "match": [
        {"keywords": [["greet", "welcome"]], "regex": r"greet (?P<who>[A-Z][a-z]+)( (?P<times>\d+) times)?"}
    ],
    "plan": {
        "goal": "greet ${params.who}",
        "steps": [
            {
                "id": "s1",
                "title": "a hello for ${params.who}",
                "action": "tool",
                "tool": "hello",
                "args": {"name": "${params.who}", "times": "${params.times}"},
            }
        ],
    },
}


@policy(effect="read")
def hello(name: str, times: int = 1) -> str:
    """Say hello."""
    return " ".join([f"hello {name}"] * times)


class Scripted(BaseChatModel):
    """Gives its replies in turn and keeps what it was asked."""

    replies: list[str] = Field(default_factory=list)
    asked: list[list[BaseMessage]] = Field(default_factory=list)

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
        self.asked.append(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.replies[len(self.asked) - 1]))])


def write(folder: Path, name: str, content: object) -> Path:
    """A template file; anything but text is written as YAML."""
    folder.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else yaml.safe_dump(content, allow_unicode=True)
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path
