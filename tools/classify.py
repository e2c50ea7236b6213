"""What an exception of a tool means: worth a retry or not, and whether the call may have happened.

Libraries are recognised by the names of their classes, so that none of them is imported.
"""

import asyncio
import email.message
import email.utils
import errno
import http.client
import socket
import ssl
import time
import urllib.error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import jsonschema
import pydantic
from langchain_core.tools import ToolException

from tools.errors import HardToolError, OutcomeUnknown, SoftToolError, UnsupportedResult
from tools.outcomes import CallFailed, FailureKind
from tools.policy import ToolPolicy
from tools.scrub import trimmed

Nature = Literal["hard", "soft", "in_doubt", "unknown"]
"""`in_doubt` is what a library's error shows; `unknown` is the tool's own word, which stands in any case."""

_RATE_LIMITED = 429
_REQUEST_TIMEOUT = 408
_SERVER_ERRORS = range(500, 600)
_ERROR_STATUSES = range(400, 600)
_LONGEST_RETRY_AFTER = 86_400.0
_LONGEST_CAUSE_CHAIN = 10

_TIMEOUT, _CONNECTION = "timeout", "connection_error"
_HTTPX = {
    "TimeoutException": _TIMEOUT,
    "NetworkError": _CONNECTION,
    "ProxyError": _CONNECTION,
    "RemoteProtocolError": _CONNECTION,
}
_OPENAI = {"APITimeoutError": _TIMEOUT, "APIConnectionError": _CONNECTION}
_LIBRARIES: Mapping[str, Mapping[str, str]] = {
    "httpx": _HTTPX,
    "httpx2": _HTTPX,
    "requests": {
        "Timeout": _TIMEOUT,
        "ConnectionError": _CONNECTION,
        "ChunkedEncodingError": _CONNECTION,
    },
    "openai": _OPENAI,
    "anthropic": _OPENAI,
    "aiohttp": {
        "ServerTimeoutError": _TIMEOUT,
        "ClientConnectionError": _CONNECTION,
        "ClientPayloadError": _CONNECTION,
    },
    "urllib3": {
        "TimeoutError": _TIMEOUT,
        "MaxRetryError": _CONNECTION,
        "ProtocolError": _CONNECTION,
        "NewConnectionError": _CONNECTION,
    },
}
_CONNECTION_ERRORS = (
    ConnectionError,
    socket.gaierror,
    ssl.SSLError,
    urllib.error.URLError,
    asyncio.IncompleteReadError,
    http.client.IncompleteRead,
)
_UNREACHABLE = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.ENETRESET}
)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What an exception is by its nature, before the policy has its say."""

    nature: Nature
    code: str
    retry_after: float | None = None
    nothing_happened: bool = False


def classify(error: BaseException, policy: ToolPolicy) -> CallFailed:
    """Return what an exception raised by a tool means under the tool's policy.

    A timeout, a lost connection or a server error leaves open whether the call happened; for a write that
    is not idempotent it is "unknown", whatever `soft_errors` says. Otherwise `hard_errors` and
    `soft_errors` come first, then the error's own nature; what is not recognised is hard.
    """
    verdict = _verdict(error)
    kind = _kind(verdict.nature, policy)
    if isinstance(error, policy.hard_errors):
        kind = "hard"
    elif isinstance(error, policy.soft_errors) and kind == "hard":
        kind = "soft"
    retry_after = verdict.retry_after if kind == "soft" else None
    return CallFailed(kind, verdict.code, describe(error), retry_after, verdict.nothing_happened)


def describe(error: BaseException) -> str:
    """Return one message of at most 500 characters that is never empty.

    Errors of this project speak for themselves; others are named by their type.
    """
    text = _text(error)
    if isinstance(error, (HardToolError, SoftToolError, OutcomeUnknown, UnsupportedResult)):
        return trimmed(text) or trimmed(getattr(error, "code", type(error).__name__))
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup):
        return trimmed(f"{name}: {describe(error.exceptions[0])}")
    return trimmed(f"{name}: {text}") if text.strip() else name


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may fail
        return ""


def _kind(nature: Nature, policy: ToolPolicy) -> FailureKind:
    match nature:
        case "hard" | "soft":
            return nature
        case "in_doubt":
            return "soft" if policy.repeatable else "unknown"
        case "unknown":
            return "soft" if policy.effect == "read" else "unknown"


def _verdict(error: BaseException) -> _Verdict:
    return _known(error) or _http_verdict(error) or _library_verdict(error) or _system_verdict(error)


def _known(error: BaseException) -> _Verdict | None:  # noqa: PLR0911 - one line per kind of error
    match error:
        case HardToolError():
            return _Verdict("hard", error.code, nothing_happened=True)
        case SoftToolError():
            return _Verdict("soft", error.code, error.retry_after, nothing_happened=True)
        case OutcomeUnknown():
            return _Verdict("unknown", error.code)
        case BaseExceptionGroup():
            return _worst([_verdict(part) for part in error.exceptions])
        case ToolException():
            return _Verdict("hard", "tool_error")
        case pydantic.ValidationError() | jsonschema.ValidationError():
            return _Verdict("hard", "validation_error")
        case asyncio.CancelledError():
            return _Verdict("hard", "cancelled")
    return None


def _worst(verdicts: list[_Verdict]) -> _Verdict:
    """Return the verdict on errors that came together: any doubt stays, then hard outweighs soft."""
    order: list[Nature] = ["unknown", "in_doubt", "hard", "soft"]
    worst = min(verdicts, key=lambda verdict: order.index(verdict.nature))
    return replace(worst, nothing_happened=all(verdict.nothing_happened for verdict in verdicts))


def _http_verdict(error: BaseException) -> _Verdict | None:
    """Judge errors that carry an HTTP status, as those of httpx, requests, openai and aiohttp do."""
    response = _attribute(error, "response")
    status = _status(error, response)
    if status is None:
        return None
    code = f"http_{status}"
    if status == _RATE_LIMITED:
        return _Verdict("soft", code, _retry_after(error, response), nothing_happened=True)
    if status == _REQUEST_TIMEOUT or status in _SERVER_ERRORS:
        return _Verdict("in_doubt", code, _retry_after(error, response))
    return _Verdict("hard", code, nothing_happened=True)


def _status(error: BaseException, response: Any) -> int | None:
    found = (_attribute(response, "status_code"), _attribute(error, "status_code"))
    if _library(error) == "aiohttp":
        found = (_attribute(error, "status"), None)
    elif isinstance(error, urllib.error.HTTPError):
        found = (error.code, None)
    numbers = [status for status in found if isinstance(status, int) and status in _ERROR_STATUSES]
    return numbers[0] if numbers else None


def _attribute(holder: object, name: str) -> Any:
    """Return an attribute of a stranger's object, None where it has none or its property fails."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - any code may run here
        return None


def _retry_after(error: BaseException, response: Any) -> float | None:
    """Read Retry-After, in seconds or as an HTTP date; None when it is missing or makes no sense."""
    headers = _attribute(response, "headers") or _attribute(error, "headers")
    text = headers.get("Retry-After") if isinstance(headers, (Mapping, email.message.Message)) else None
    if not isinstance(text, str):
        return None
    seconds = float(text) if text.strip().isdecimal() else _seconds_until(text)
    return None if seconds is None else min(max(seconds, 0.0), _LONGEST_RETRY_AFTER)


def _seconds_until(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None


def _library(error: BaseException) -> str:
    """Return the known library that the error, or a class it derives from, comes from; "" for none."""
    homes = (kind.__module__.partition(".")[0] for kind in type(error).__mro__)
    return next((home for home in homes if home in _LIBRARIES), "")


def _library_verdict(error: BaseException) -> _Verdict | None:
    """Judge errors of known HTTP libraries: their network errors by class name, all else is hard.

    All else must not fall through: requests makes even a malformed URL an OSError.
    """
    classes = _LIBRARIES.get(_library(error))
    if classes is None:
        return None
    if _bad_certificate(error):
        return _Verdict("hard", "bad_certificate", nothing_happened=True)
    for kind in type(error).__mro__:
        if kind.__name__ in classes and kind.__module__.partition(".")[0] == _library(error):
            return _Verdict("in_doubt", classes[kind.__name__])
    return _Verdict("hard", "request_error")


def _bad_certificate(error: BaseException) -> bool:
    """Tell whether a certificate was refused, which no retry changes; libraries wrap that differently."""
    return any(
        isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in _text(cause)
        for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CAUSE_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _system_verdict(error: BaseException) -> _Verdict:
    if isinstance(error, ssl.SSLCertVerificationError) or _bad_certificate_inside(error):
        return _Verdict("hard", "bad_certificate", nothing_happened=True)
    if isinstance(error, TimeoutError):
        return _Verdict("in_doubt", _TIMEOUT)
    if isinstance(error, _CONNECTION_ERRORS) or getattr(error, "errno", None) in _UNREACHABLE:
        return _Verdict("in_doubt", _CONNECTION)
    if isinstance(error, FileNotFoundError):
        return _Verdict("hard", "not_found")
    if isinstance(error, PermissionError):
        return _Verdict("hard", "permission_denied")
    return _Verdict("hard", "os_error" if isinstance(error, OSError) else "unexpected_error")


def _bad_certificate_inside(error: BaseException) -> bool:
    return isinstance(error, urllib.error.URLError) and isinstance(error.reason, ssl.SSLCertVerificationError)
