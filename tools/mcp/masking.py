"""Keeps the secrets of an MCP server's configuration out of what it says."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from graph.plan import JSON
from tools.mcp.config import ServerConfig
from tools.scrub import REDACTED

_SECRET_NAME = re.compile(
    "key|token|secret|passw|pwd|auth(?!ors?(_|$))|credential|cookie|dsn|private|signature", re.IGNORECASE
)
_MIN_CHARS = 6


def secrets_of(server: ServerConfig) -> tuple[str, ...]:
    """Return the values of env, headers and url whose names tell that they are secret, longest first.

    A value such as a folder that a server works in is none: results must be free to name it.
    """
    found = {value for value in _values(server) if len(value) >= _MIN_CHARS}
    return tuple(sorted(found, key=len, reverse=True))


def _values(server: ServerConfig) -> Iterator[str]:
    for name, value in (*server.env.items(), *server.headers.items()):
        if _SECRET_NAME.search(name):
            yield value.strip()
            yield value.rpartition(" ")[2].strip()  # the token after "Bearer"
    yield from _of_url(server.url)
    yield from _of_arguments(server.args)


def _of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield unquote(parts.password or "")
    yield from (value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name))


def _of_arguments(args: Iterable[str]) -> Iterator[str]:
    """Find `--api-key=VALUE` and `--api-key VALUE`."""
    before = ""
    for argument in args:
        name, equals, value = argument.partition("=")
        if equals and name.startswith("-") and _SECRET_NAME.search(name):
            yield value
        elif before.startswith("-") and "=" not in before and _SECRET_NAME.search(before):
            yield argument
        before = argument


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the text with each secret replaced."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def masked_value(value: JSON, secrets: tuple[str, ...]) -> JSON:
    """Return JSON data with each secret in its texts and keys replaced; the same object without secrets."""
    if not secrets:
        return value
    if isinstance(value, str):
        return masked(value, secrets)
    if isinstance(value, dict):
        return {masked(key, secrets): masked_value(item, secrets) for key, item in value.items()}
    return [masked_value(item, secrets) for item in value] if isinstance(value, list) else value
