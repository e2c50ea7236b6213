"""One request to a chat model, without what its endpoint is known not to take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from graph.state import EndpointFacts

_NEW_LIMIT, _OLD_LIMIT = "max_completion_tokens", "max_tokens"


@dataclass(frozen=True)
class Options:
    """What goes with the messages: OpenAI's `response_format`, tools, and the cap on the answer's tokens."""

    response_format: dict[str, Any] | None = None
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: str | None = None
    max_tokens: int | None = None


def speaks_openai(model: BaseChatModel) -> bool:
    """Whether the model's class is LangChain's client of OpenAI's protocol or derives from it."""
    return any(kind.__name__ == "BaseChatOpenAI" for kind in type(model).__mro__)


def calls_tools(model: BaseChatModel) -> bool:
    return type(model).bind_tools is not BaseChatModel.bind_tools


def prepared(
    model: BaseChatModel, options: Options, facts: EndpointFacts
) -> tuple[Runnable[LanguageModelInput, AIMessage], dict[str, Any]]:
    """The model as it is to be called, and the keyword arguments of the call."""
    plain = _without(model, facts.rejected)
    arguments: dict[str, Any] = {**_closing(model), **_limit(model, options.max_tokens, facts.rejected)}
    if options.response_format is not None:
        arguments["response_format"] = options.response_format
    if not options.tools:
        return plain, arguments
    choice = None if "tool_choice" in facts.rejected else options.tool_choice
    return plain.bind_tools(list(options.tools), **({"tool_choice": choice} if choice else {})), arguments


def _closing(model: BaseChatModel) -> dict[str, Any]:
    """Has each connection end with its reply.

    LangChain's client keeps them for all models of the process, but they belong to the event loop they were
    opened on: taken up in another one, they fail or hang.
    """
    if not speaks_openai(model):
        return {}
    own = getattr(model, "model_kwargs", {}).get("extra_headers") or {}
    return {"extra_headers": {**own, "Connection": "close"}}


def _limit(model: BaseChatModel, wanted: int | None, rejected: set[str]) -> dict[str, Any]:
    """The cap under the name that the endpoint takes: the two are tried in turn, then it goes uncapped."""
    own = getattr(model, "max_tokens", None) if rejected & {_NEW_LIMIT, _OLD_LIMIT} else None
    tokens = wanted if wanted is not None else own if isinstance(own, int) else None
    if tokens is None or {_NEW_LIMIT, _OLD_LIMIT} <= rejected:
        return {}
    if not speaks_openai(model):
        return {} if _OLD_LIMIT in rejected else {_OLD_LIMIT: tokens}
    if _NEW_LIMIT in rejected:
        # LangChain's client renames max_tokens; only the extra body leaves the name alone.
        return {"extra_body": {_OLD_LIMIT: tokens}}
    return {_NEW_LIMIT: tokens} if _OLD_LIMIT in rejected else {_OLD_LIMIT: tokens}


def _without(model: BaseChatModel, rejected: set[str]) -> BaseChatModel:
    names = {_OLD_LIMIT if name == _NEW_LIMIT else name for name in rejected}
    fields = type(model).model_fields
    update: dict[str, Any] = {name: None for name in names if name in fields}
    if "stream_options" in names and "stream_usage" in fields:
        update["stream_usage"] = False
    extra = getattr(model, "model_kwargs", None)
    if isinstance(extra, dict) and rejected & extra.keys():
        update["model_kwargs"] = {name: value for name, value in extra.items() if name not in rejected}
    return model.model_copy(update=update) if update else model
