"""Messages that people and logs may see: short, printable, without secrets."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graph.plan import JSON
from tools.results import clean_text

MAX_MESSAGE_CHARS = 500
REDACTED = "[redacted]"

_URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+@")
_URL_QUERY = re.compile(r"(\w+://[^\s?'\"]+)\?[^\s'\"]+")
_TOKEN = re.compile(r"\b(Bearer\s+|Basic\s+)[\w.~+/=-]{6,}|\b(sk|ghp|xox[a-z])[-_][\w-]{8,}", re.IGNORECASE)
_MIN_SECRET_CHARS = 4
_MAX_SCRUBBED_CHARS = 20_000


def trimmed(text: str) -> str:
    """Return the text without outer space, storable, and cut to `MAX_MESSAGE_CHARS`."""
    short = clean_text(text[: 4 * MAX_MESSAGE_CHARS]).strip()
    return short if len(short) <= MAX_MESSAGE_CHARS else short[: MAX_MESSAGE_CHARS - 1] + "…"


def scrubbed(text: str, args: Mapping[str, Any], redact: frozenset[str]) -> str:
    """Return the text without credentials of URLs, tokens, and the values of redacted arguments.

    Args:
        text: A message of a tool or a library.
        args: The arguments of the call.
        redact: Names of arguments whose values are secret.
    """
    text = text[:_MAX_SCRUBBED_CHARS]
    for secret in sorted(set(_secrets(args, redact)), key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    text = _URL_QUERY.sub(r"\1?" + REDACTED, _URL_LOGIN.sub("", text))
    return _TOKEN.sub(REDACTED, text)


def redacted(value: JSON, redact: frozenset[str]) -> JSON:
    """Return a copy in which the value of each redacted key, at any depth, is replaced."""
    if isinstance(value, dict):
        return {key: REDACTED if key in redact else redacted(item, redact) for key, item in value.items()}
    return [redacted(item, redact) for item in value] if isinstance(value, list) else value


def _secrets(value: Any, redact: frozenset[str], secret: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets(item, redact, secret or key in redact)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets(item, redact, secret)
    elif secret and value is not None and len(str(value)) >= _MIN_SECRET_CHARS:
        yield str(value)
