"""The one object that a reply holds, whether as text or as the arguments of a tool call."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from nodes.endpoint.endings import was_cut
from nodes.replies import BadReply, json_object_in, storable, text_of
from tools.results import clean_text

_SHOWN_CHARS = 8_000
_CUT_CHARS = 400
"""Of a reply that ran into the token limit: all of it would cost as much again, and invite more like it."""
_WRAPPERS = ({"name", "arguments"}, {"name", "parameters"})


def object_of(reply: AIMessage, name: str) -> dict[str, Any]:
    """The object that a model was asked for under `name`; raises BadReply.

    A tool call counts whatever method was used, and so does one that was written as text. Two different
    calls are no answer: neither is chosen.
    """
    calls = [*reply.tool_calls, *reply.invalid_tool_calls]
    if not calls:
        return _unwrapped(json_object_in(text_of(reply)), name)
    if was_cut(reply):
        raise BadReply("the reply was cut off at the token limit: be briefer")
    wrong = [call["name"] for call in calls if not _is(call["name"], name)]
    if wrong:
        raise BadReply(f"there is no function {wrong[0]!r} to call: give the answer to {name!r} itself")
    found = [_arguments(call["args"]) for call in calls]
    if any(other != found[0] for other in found):
        raise BadReply(f"there are {len(found)} different calls of {name!r}: give one")
    return found[0]


def said(reply: AIMessage) -> list[BaseMessage]:
    """The reply as it stands in the conversation when the model is asked again: its words, cut to size.

    Tool calls become text: the protocol wants an answer to each call, and there is none.
    """
    calls = [*reply.tool_calls, *reply.invalid_tool_calls]
    text = json.dumps(calls[0]["args"], ensure_ascii=False, default=str) if calls else str(reply.text)
    limit = _CUT_CHARS if was_cut(reply) else _SHOWN_CHARS
    return [AIMessage(clean_text(text[:limit]))] if text.strip() else []


def _is(called: str | None, name: str) -> bool:
    return called is None or called.casefold() == name.casefold()


def _arguments(args: Any) -> dict[str, Any]:
    if isinstance(args, str):
        return json_object_in(args)
    if not isinstance(args, dict):
        raise BadReply("the call's arguments are no JSON object")
    return storable(args)


def _unwrapped(found: dict[str, Any], name: str) -> dict[str, Any]:
    """What is inside a tool call that was written as text."""
    if set(found) not in _WRAPPERS or not isinstance(found["name"], str) or not _is(found["name"], name):
        return found
    return _arguments(found.get("arguments", found.get("parameters")))
