"""What a failed model call means: to be tried again, asked in another way, or final.

Libraries are recognised by the names of their classes, so that none of them is imported.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.exceptions import ModelConnectionError, ModelRefusalError, ModelTimeoutError
from langchain_core.messages import AIMessage
from pydantic import ValidationError

from tools import CallFailed, ToolPolicy, classify
from tools.scrub import scrubbed, trimmed

MODEL_POLICY = ToolPolicy(effect="read", idempotent=True)
REFUSED = "refused"
METHOD_REJECTED = "method_rejected"
BAD_RESPONSE = "bad_response"
CONTEXT_OVERFLOW = "context_overflow"

DROPPABLE = frozenset(
    {
        "temperature", "top_p", "seed", "tool_choice", "parallel_tool_calls", "max_completion_tokens",
        "max_tokens", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "n",
        "stop", "stream_options", "reasoning_effort", "verbosity", "service_tier", "user", "store",
        "metadata",
    }
)  # fmt: skip
"""Parameters without which a request still asks the same."""

_METHOD = re.compile(
    r"response_format|json_schema|json_object|structured.outputs?|guided|grammar|\bschema\b|"
    r"additionalProperties|function.calling|\btools?\b(?!_)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|exceeds? the (available )?context|exceed_context_size|"
    r"prompt is too long",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content_filter|content management policy|ResponsibleAIPolicy", re.IGNORECASE)
_PAGE = re.compile(r"<[!a-zA-Z].{0,80}")
_UNKNOWN_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_NOT_SENT = frozenset(
    {
        "ConnectError",
        "ConnectTimeout",
        "PoolTimeout",
        "ProxyError",
        "UnsupportedProtocol",
        "LocalProtocolError",
    }
)  # fmt: skip
"""How the clients' HTTP library names what ends a request before it is under way."""

_LIBRARY_FAULTS = (
    IndexError, TypeError, ValueError, KeyError, AttributeError, AssertionError, RecursionError,
)  # fmt: skip
_BAD_REQUEST = frozenset({400, 415, 422})
_TRANSIENT = frozenset({408, 409, 425, 429})
_CLIENT_FAULT, _SERVER_FAULT = 400, 500


@dataclass(frozen=True)
class Fault:
    """One failed call.

    `failed` is what is left when nothing else helps; `parameter` one that the endpoint does not take;
    `answer` the reply of a call that the client library gave up on although the model had answered;
    `complaint` what the endpoint says of a request that it finds bad.
    """

    failed: CallFailed
    parameter: str | None = None
    answer: AIMessage | None = None
    complaint: str = ""


def read_fault(error: BaseException, *, speaks_openai: bool) -> Fault:
    """Judge an exception of a chat model.

    Args:
        error: What the call raised.
        speaks_openai: Whether the model's class is a client of OpenAI's protocol, whose library fails
            with all kinds of exceptions over replies that it cannot read.
    """
    found = classify(error, MODEL_POLICY)
    failed = replace(found, message=_safe(found.message))
    answer = _answer_within(error)
    if answer is not None:
        return Fault(failed, answer=answer)
    if isinstance(error, ModelRefusalError) or type(error).__name__ == "ContentFilterFinishReasonError":
        return Fault(CallFailed("hard", REFUSED, f"blocked by the endpoint: {failed.message}"))
    if isinstance(error, (ModelConnectionError, ModelTimeoutError)):
        code = "timeout" if isinstance(error, ModelTimeoutError) else "connection_error"
        return Fault(replace(failed, kind="soft", code=code, nothing_happened=_was_not_sent(error)))
    keyword = _UNKNOWN_KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    if keyword is not None:
        return _rejected(failed, keyword.group(1), keyword.group(1))
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        complaint = _words(getattr(error, "body", None)) if status in _BAD_REQUEST else ""
        return replace(_of_status(error, status, failed), complaint=complaint)
    return Fault(_of_library(error, failed) if speaks_openai else failed)


def _was_not_sent(error: BaseException) -> bool:
    """Whether the request never reached the endpoint, so that nobody can have worked on it."""
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ in _NOT_SENT:
            return True
        cause = cause.__cause__
    return False


def _of_library(error: BaseException, failed: CallFailed) -> CallFailed:
    if type(error).__name__ == "APIError":
        return _in_200(getattr(error, "body", None), failed.message)
    return _unreadable(error, failed.message) if isinstance(error, _LIBRARY_FAULTS) else failed


def _safe(text: str) -> str:
    return trimmed(scrubbed(text, {}, frozenset()))


def _answer_within(error: BaseException) -> AIMessage | None:
    """An answer that a client library wraps in an exception: cut off, or with arguments that are no text."""
    if isinstance(error, ValidationError) and error.title == "AIMessage":
        inputs = [found["input"] for found in error.errors(include_url=False) if found["loc"][-1] == "args"]
        return AIMessage(json.dumps(inputs[0])) if len(inputs) == 1 and isinstance(inputs[0], dict) else None
    completion = getattr(error, "completion", None)
    if type(error).__name__ != "LengthFinishReasonError" or completion is None:
        return None
    usage = getattr(completion, "usage", None)
    counts = [getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens")]
    return AIMessage(
        str(completion.choices[0].message.content or ""),
        response_metadata={"finish_reason": "length"},
        usage_metadata=None
        if usage is None
        else {"input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts)},
    )


def _of_status(error: BaseException, status: int, failed: CallFailed) -> Fault:
    body = getattr(error, "body", None)
    text = f"{failed.message} {_plain(body)}"
    if _FILTERED.search(text):
        return Fault(CallFailed("hard", REFUSED, f"blocked by the endpoint: {failed.message}"))
    if _CONTEXT.search(text) or "ContextOverflow" in type(error).__name__:
        return Fault(replace(failed, kind="hard", code=CONTEXT_OVERFLOW))
    named = _named_parameter(body, text) if status in _BAD_REQUEST else None
    if named is not None:
        return _rejected(failed, named, text)
    about_method = status in _BAD_REQUEST or (status >= _SERVER_FAULT and "grammar" in text.lower())
    return _rejected(failed, "", text) if about_method else Fault(failed)


def _rejected(failed: CallFailed, parameter: str, text: str) -> Fault:
    if parameter in DROPPABLE:
        return Fault(replace(failed, kind="hard"), parameter=parameter)
    if parameter in {"response_format", "tools", "functions"} or _METHOD.search(text):
        return Fault(replace(failed, kind="hard", code=METHOD_REJECTED))
    return Fault(failed)


def _named_parameter(body: Any, text: str) -> str | None:
    """The parameter that a server's complaint is about, by its own field for it or by its words."""
    if isinstance(body, Mapping):
        param = body.get("param")
        if isinstance(param, str) and param:
            return param.partition(".")[0].partition("[")[0]
        detail = body.get("detail")
        first = detail[0] if isinstance(detail, list) and detail else None
        place = first.get("loc") if isinstance(first, Mapping) else None
        if isinstance(place, list) and len(place) > 1:
            return str(place[1])
    if re.search(r"response_format|json_schema", text):
        return "response_format"
    found = re.search(rf"(?<![\w.])({'|'.join(sorted(DROPPABLE - {'n', 'stop', 'user', 'store'}))})\b", text)
    return found.group(1) if found else None


def _words(body: Any) -> str:
    """What an error object says to people."""
    while isinstance(body, Mapping):
        body = body.get("error") or body.get("message") or body.get("detail")
    return body if isinstance(body, str) else ""


def _plain(body: Any) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, default=str)[:4000]
    except (ValueError, RecursionError):
        return ""


def _unreadable(error: BaseException, message: str) -> CallFailed:
    """A reply with status 200 that is none: no choices, HTML, an error object, no JSON at all."""
    raw = _raw_body(error)
    try:
        body = json.loads(raw) if raw else error.args[0] if error.args else None
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, Mapping) and isinstance(body.get("error", body), (Mapping, str)):
        told = body.get("error", body)
        if "error" in body or (isinstance(told, Mapping) and "message" in told):
            return _in_200(told, message)
    page = _PAGE.search(raw or message)
    shown = f": {_safe(page.group())}" if page else ""
    return CallFailed("soft", BAD_RESPONSE, f"empty or invalid response from the model endpoint{shown}")


def _raw_body(error: BaseException) -> str:
    try:
        return str(getattr(getattr(error, "response", None), "text", "") or "")
    except Exception:  # noqa: BLE001 - a stream's body may not have been read
        return ""


def _in_200(told: Any, otherwise: str) -> CallFailed:
    """An error object in a reply with status 200, or in a stream; its own code says whether to try again."""
    code = told.get("code") if isinstance(told, Mapping) else None
    words = told.get("message") if isinstance(told, Mapping) else told
    message = _safe(f"the model endpoint answered with an error: {words or otherwise}")
    status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else None
    if code == "content_filter":
        return CallFailed("hard", REFUSED, message)
    hard = status is not None and _CLIENT_FAULT <= status < _SERVER_FAULT and status not in _TRANSIENT
    return CallFailed("hard" if hard else "soft", BAD_RESPONSE, message)
