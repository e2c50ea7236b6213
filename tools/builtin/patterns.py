"""Name patterns as in a shell, for paths that were already found: nothing here touches a disk."""

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

from tools.errors import HardToolError

MAX_PATTERN_CHARS = 200
_ANY_DEPTH = "**"


def matches(path: Sequence[str], pattern: str) -> bool:
    """Tell whether a path fits a pattern.

    Args:
        path: The names along the path.
        pattern: `*`, `?` and `[...]` within a name and `**` for any number of folders. One without `/`
            is held against the last name alone.

    Raises:
        HardToolError: "invalid_pattern" for one that is too long.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise HardToolError("invalid_pattern", f"a pattern may have at most {MAX_PATTERN_CHARS} characters")
    wanted = [part for part in pattern.split("/") if part not in {"", "."}]
    if "/" not in pattern:
        wanted = [_ANY_DEPTH, *wanted]
    return _fits(tuple(path), tuple(wanted))


def _fits(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Keep the set of lengths of the pattern that fit the path so far: linear, whatever the pattern."""
    reached = _skipped({0}, wanted)
    for name in path:
        stepped = {
            at if wanted[at] == _ANY_DEPTH else at + 1
            for at in reached
            if at < len(wanted) and (wanted[at] == _ANY_DEPTH or _name_pattern(wanted[at]).match(name))
        }
        reached = _skipped(stepped, wanted)
    return len(wanted) in reached


def _skipped(reached: set[int], wanted: tuple[str, ...]) -> set[int]:
    """Add what is reached by letting `**` stand for no folder at all."""
    every = set(reached)
    for at in range(len(wanted)):
        if at in every and wanted[at] == _ANY_DEPTH:
            every.add(at + 1)
    return every


@lru_cache(maxsize=256)
def _name_pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
