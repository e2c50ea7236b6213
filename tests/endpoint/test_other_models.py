"""Chat models that are no client of OpenAI's protocol, or take no keyword arguments at all."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import Field

from nodes.endpoint.structured import ask_structured
from tests.endpoint.support import ask_of, session_of
from tools import CallFailed

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ANN = {"name": "Ann"}


class Plain(BaseChatModel):
    """Says one thing, and takes nothing but messages."""

    said: str = json.dumps(ANN)
    prompts: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _generate(  # type: ignore[override]  # there are such models
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
    ) -> ChatResult:
        self.prompts.append("\n".join(str(message.content) for message in messages))
        return ChatResult(generations=[ChatGeneration(message=self._reply())])

    def _reply(self) -> AIMessage:
        return AIMessage(self.said)


class Calling(Plain):
    """Answers by a call of the first tool that is bound to it."""

    bound: list[dict[str, Any]] = Field(default_factory=list)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self.bound.extend(tool for tool in tools if isinstance(tool, dict))
        return self

    def _reply(self) -> AIMessage:
        name = self.bound[-1]["function"]["name"]
        return AIMessage("", tool_calls=[{"name": name, "args": ANN, "id": "1"}])


class Broken(Plain):
    """Has a bug."""

    def _reply(self) -> AIMessage:
        raise ValueError("a bug")


async def _asked(model: BaseChatModel, **more: Any) -> Any:
    session = session_of(model)
    how = ask_of(session, **more)
    return await ask_structured(session, how, [HumanMessage("Who?")], SCHEMA, "person"), how


async def test_a_model_that_takes_only_messages_is_told_the_shape() -> None:
    model = Plain()
    answer, how = await _asked(model)
    assert answer == ANN
    assert "JSON schema" in model.prompts[0]
    assert how.spent.model_calls == 1


async def test_a_model_that_takes_no_cap_on_tokens_is_asked_without() -> None:
    answer, how = await _asked(Plain(), max_tokens=100)
    assert answer == ANN
    assert how.spent.model_calls == 2


async def test_a_model_that_calls_tools_answers_by_a_call() -> None:
    model = Calling()
    answer, _how = await _asked(model)
    assert answer == ANN
    assert model.bound[0]["function"]["parameters"]["required"] == ["name"]


async def test_a_bug_of_a_model_is_not_tried_again() -> None:
    answer, how = await _asked(Broken())
    assert isinstance(answer, CallFailed)
    assert answer.kind == "hard"
    assert "ValueError: a bug" in answer.message
    assert how.spent.model_calls == 1


async def test_what_is_learned_of_one_model_is_not_held_against_another() -> None:
    first, second = Plain(), Plain()
    session = session_of(first)
    session.engine.endpoints.of(first).rejected.add("max_tokens")
    assert session.engine.endpoints.of(second).rejected == set()
    assert session.engine.endpoints.of(first).rejected == {"max_tokens"}
