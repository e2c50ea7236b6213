"""Regular expressions that come from elsewhere: searched within a time, since a few of them take hours."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import regex

_SECONDS = 1.0
"""Far more than an honest expression takes over a text of this size, far less than a person would wait."""

_BAD = (regex.error, RecursionError, OverflowError)
"""How an expression is refused: two of them are for those that are nested or repeated too much."""

T = TypeVar("T")


class PatternError(ValueError):
    """The expression is none, or takes too long over a text; the message says which."""


@lru_cache(maxsize=1024)
def compiled(pattern: str, *, ignore_case: bool = False) -> "regex.Pattern[str]":
    """The expression in the syntax of Python's `re`; raises PatternError when it is none."""
    try:
        return regex.compile(pattern, regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0))
    except _BAD as error:
        raise PatternError(f"the pattern {pattern[:80]!r} is no regular expression: {error}") from None


def is_found(pattern: str, text: str) -> bool:
    """Whether the expression occurs in the text; raises PatternError when it is none or takes too long."""
    return _in_time(pattern, lambda: compiled(pattern).search(text, timeout=_SECONDS) is not None)


def fits(pattern: str, text: str) -> bool:
    """Whether the expression fits the whole text; raises PatternError when it is none or takes too long."""
    return _in_time(pattern, lambda: compiled(pattern).fullmatch(text, timeout=_SECONDS) is not None)


def groups_found(pattern: str, text: str) -> list[dict[str, str]]:
    """The named groups of each place where the expression occurs, in any case; raises as `is_found`."""
    return _in_time(pattern, lambda: [
        {name: found for name, found in match.groupdict().items() if found is not None}
        for match in compiled(pattern, ignore_case=True).finditer(text, timeout=_SECONDS)
    ])  # fmt: skip


def _in_time(pattern: str, search: Callable[[], T]) -> T:
    try:
        return search()
    except TimeoutError:
        raise PatternError(f"the pattern {pattern[:80]!r} takes too long over this text") from None
