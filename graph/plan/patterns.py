"""Regular expressions that come from elsewhere: searched within a time, since a few of them take hours."""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import regex

SECONDS = 1.0
"""Far more than an honest expression takes over a text of this size, far less than a person would wait."""

_BAD = (regex.error, RecursionError, OverflowError, ValueError)
"""How an expression is refused: all but the first are for those that are nested or repeated too much, or have
flags that do not go together."""

_REPEATS = regex.compile(r"\{\d*,?\d*\}")

T = TypeVar("T")


class PatternError(ValueError):
    """The expression is none, or takes too long over a text; the message says which."""


@lru_cache(maxsize=1024)
def compiled(pattern: str, *, ignore_case: bool = False) -> "regex.Pattern[str]":
    """The expression in the syntax of Python's `re`; raises PatternError when it is none."""
    try:
        return regex.compile(_as_re(pattern), regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0))
    except _BAD as error:
        raise PatternError(f"the pattern {pattern[:80]!r} is no regular expression: {error}") from None


def is_found(pattern: str, text: str, *, until: float | None = None) -> bool:
    """Whether the expression occurs in the text.

    Args:
        pattern: The expression.
        text: Where it is searched.
        until: The end of the time, by `time.monotonic`; a second from now when absent.

    Raises:
        PatternError: It is no regular expression, or takes longer than it may.
    """
    return _in_time(pattern, until, lambda s: compiled(pattern).search(text, timeout=s) is not None)


def fits(pattern: str, text: str) -> bool:
    """Whether the expression fits the whole text; raises as `is_found`."""
    return _in_time(pattern, None, lambda s: compiled(pattern).fullmatch(text, timeout=s) is not None)


def groups_found(pattern: str, text: str) -> list[dict[str, str]]:
    """The named groups of each place where the expression occurs, in any case; raises as `is_found`."""

    def search(seconds: float) -> list[dict[str, str]]:
        matches = compiled(pattern, ignore_case=True).finditer(text, timeout=seconds)
        return [{name: found for name, found in m.groupdict().items() if found is not None} for m in matches]

    return _in_time(pattern, None, search)


def _in_time(pattern: str, until: float | None, search: Callable[[float], T]) -> T:
    left = SECONDS if until is None else until - time.monotonic()
    try:
        if left > 0:
            return search(left)
    except TimeoutError:
        pass
    raise PatternError(f"the pattern {pattern[:80]!r} takes too long over this text")


def _as_re(pattern: str) -> str:
    """The expression, in which what only `regex` knows is as literal as it is to `re`.

    That are `{e}` and the like, which let a text differ, and `[[:alpha:]]`.
    """
    out, at, in_set = [], 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            out.append(pattern[at : at + 2])
            at += 2
            continue
        if in_set and char == "[":
            char = r"\["
        elif in_set and char == "]" and at > in_set:
            in_set = 0
        elif not in_set and char == "[":
            # The first character of a set, after its ^, is literal.
            in_set = at + 1 + pattern.startswith("^", at + 1)
        elif not in_set and char == "{" and not _REPEATS.match(pattern, at):
            char = r"\{"
        out.append(char)
        at += 1
    return "".join(out)
