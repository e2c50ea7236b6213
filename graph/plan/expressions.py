"""Reading expressions: which steps and params they name, and whether they are plain paths.

Nothing is evaluated here, and the CEL library is not loaded.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from graph.plan.tokens import Token, tokens

Key: TypeAlias = str | int

PARAMS = "params"
STEPS = "steps"
MAX_CHARS = 2000
ITEM, INDEX, RESULT = "item", "index", "result"
LOCAL_NAMES = frozenset({ITEM, INDEX, RESULT})
"""Names that have a value only in some places: an item of a map and its index, a step's own result."""

RESERVED_IDS = LOCAL_NAMES | {PARAMS, STEPS}
"""Names an expression gives a meaning of its own; no step may have one of them as its id."""

COMPREHENSIONS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
FUNCTIONS = COMPREHENSIONS | {
    *("size", "has", "contains", "startsWith", "endsWith", "matches", "type", "dyn"),
    *("int", "uint", "double", "string", "bytes", "timestamp", "duration"),
    *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfYear", "getDayOfWeek"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
}
"""The functions expressions may call; CEL would find an unknown one only when the step runs."""

_KEYWORDS = frozenset({"true", "false", "null", "in"})
_SIMPLE_STRING = re.compile(r"""^(?:"[^"\\\n]*"|'[^'\\\n]*')$""")


@dataclass(frozen=True, slots=True)
class Comprehension:
    """One all/exists/exists_one/map/filter call.

    `names` counts the values its body mentions; `outer` are those that are not the loop variable.
    `keeps_items` tells that whole items, not only parts of them, can end up in its result.
    """

    macro: str
    names: int
    outer: tuple[str, ...]
    nested: bool
    keeps_items: bool


@dataclass(frozen=True, slots=True)
class Expression:
    """What can be known of `${text}` without evaluating it.

    `step_ids` are the steps it needs; `roots` the top-level names it uses, and `param_names` the params it
    names outside `has(...)`. `path` is set when it is a plain path: a root, then keys and indexes.
    `fault` says why it cannot be used at all.
    """

    text: str
    step_ids: frozenset[str] = frozenset()
    param_names: frozenset[str] = frozenset()
    roots: frozenset[str] = frozenset()
    path: tuple[Key, ...] | None = None
    comprehensions: tuple[Comprehension, ...] = ()
    joins: int = 0
    uses_regex: bool = False
    fault: str | None = None

    @property
    def local_names(self) -> frozenset[str]:
        """Those of its names that have a value only in some places."""
        return self.roots & LOCAL_NAMES


def read_expression(text: str) -> Expression:
    """Read one expression, the text between the braces.

    Returns:
        What it names; `fault` is set when it is malformed or longer than MAX_CHARS, never an exception.
    """
    if len(text) > MAX_CHARS:
        return Expression(text, fault=f"it has {len(text)} characters, at most {MAX_CHARS} can be read")
    return _read(text)


@lru_cache(maxsize=8192)
def _read(text: str) -> Expression:
    found, fault = tokens(text)
    if fault is None and not found:
        fault = "it is empty; name a step's output, or write $${ for a literal ${"
    if fault is not None:
        return Expression(text, fault=fault)
    path = _plain_path(found)
    if path is not None:
        return _path_expression(text, path)
    return _cel_expression(text, found)


def step_id_of(path: tuple[Key, ...]) -> str | None:
    """Return the id of the step a plain path starts at, or None for params and local names."""
    root = str(path[0])
    if root == PARAMS or root in LOCAL_NAMES:
        return None
    return str(path[1]) if root == STEPS and len(path) > 1 else root


def _path_expression(text: str, path: tuple[Key, ...]) -> Expression:
    root = str(path[0])
    if root == STEPS and (len(path) == 1 or not isinstance(path[1], str)):
        return Expression(text, fault=_STEPS_NEED_AN_ID)
    step_id = step_id_of(path)
    params = {path[1]} if root == PARAMS and len(path) > 1 and isinstance(path[1], str) else set()
    return Expression(
        text,
        step_ids=frozenset() if step_id is None else frozenset({step_id}),
        param_names=frozenset(params),
        roots=frozenset({root}),
        path=path,
    )


NAMES_NOTHING = "it names no step and no param; write $${ for a literal ${"
_STEPS_NEED_AN_ID = "`steps` needs the id of one step in quotes, as in steps['s1']"


def _plain_path(found: tuple[Token, ...]) -> tuple[Key, ...] | None:
    if found[0].kind != "name" or found[0].text in _KEYWORDS:
        return None
    keys: list[Key] = [found[0].text]
    at = 1
    while at < len(found):
        key, used = _path_part(found, at)
        if key is None:
            return None
        keys.append(key)
        at += used
    return tuple(keys)


def _path_part(found: tuple[Token, ...], at: int) -> tuple[Key | None, int]:
    texts = [token.text for token in found[at : at + 3]]
    if texts[0] == "." and len(texts) > 1 and found[at + 1].kind == "name":
        return texts[1], 2
    if texts[0] != "[" or len(texts) < 3 or texts[2] != "]":  # noqa: PLR2004 - `[`, the key, `]`
        return None, 0
    return _subscript(found[at + 1]), 3


def _subscript(token: Token) -> Key | None:
    if token.kind == "number" and token.text.isascii() and token.text.isdigit():
        return int(token.text)
    return _literal(token)


def _literal(token: Token) -> str | None:
    """Return the text of a string literal without prefix and escapes, else None."""
    return token.text[1:-1] if token.kind == "string" and _SIMPLE_STRING.match(token.text) else None


def _cel_expression(text: str, found: tuple[Token, ...]) -> Expression:
    loops = _loops(found)
    steps: set[str] = set()
    params: set[str] = set()
    roots: set[str] = set()
    for at in _value_names(found, loops):
        name, key = found[at].text, _key_after(found, at)
        roots.add(name)
        if name == STEPS and key is None:
            return Expression(text, fault=_STEPS_NEED_AN_ID)
        if name == PARAMS:
            params.update(() if key is None or _inside_has(found, at) else (key,))
        elif name not in LOCAL_NAMES:
            steps.add(key if name == STEPS and key is not None else name)
    return Expression(
        text,
        step_ids=frozenset(steps),
        param_names=frozenset(params),
        roots=frozenset(roots),
        comprehensions=tuple(_comprehension(found, loop, loops) for loop in loops),
        joins=sum(token.text == "+" for token in found),
        uses_regex=any(token.text == "matches" for token in found),
        fault=_unknown_function(found) or (None if roots else NAMES_NOTHING),
    )


def _unknown_function(found: tuple[Token, ...]) -> str | None:
    for token, after in pairwise(found):
        if token.kind == "name" and after.text == "(" and token.text not in FUNCTIONS | _KEYWORDS:
            return f"there is no function {token.text}; the functions are {', '.join(sorted(FUNCTIONS))}"
    return None


@dataclass(frozen=True, slots=True)
class _Loop:
    """Token positions of one comprehension: its macro name, its loop variable, its closing bracket."""

    macro: int
    variable: str
    end: int


def _loops(found: tuple[Token, ...]) -> list[_Loop]:
    starts = [
        at
        for at in range(1, len(found) - 2)
        if found[at].text in COMPREHENSIONS and found[at - 1].text == "." and found[at + 1].text == "("
    ]
    return [_Loop(at, found[at + 2].text, _closing(found, at + 1)) for at in starts]


def _closing(found: tuple[Token, ...], opening: int) -> int:
    depth = 0
    for at in range(opening, len(found)):
        depth += (found[at].text in "([{") - (found[at].text in ")]}")
        if depth == 0:
            return at
    return len(found)


def value_names(found: tuple[Token, ...]) -> list[int]:
    """Return the positions, in the tokens of an expression, of names for data from outside it."""
    return _value_names(found, _loops(found))


def named_step(found: tuple[Token, ...], at: int) -> tuple[str, int]:
    """Return the id after `steps` at a position, with where the id's part ends in the text."""
    key = _key_after(found, at)
    if key is None:
        return STEPS, found[at].end
    return key, found[at + (2 if found[at + 1].text == "." else 3)].end


def _value_names(found: tuple[Token, ...], loops: list[_Loop]) -> list[int]:
    """Return the positions of names that stand for data from outside the expression."""
    return [at for at, token in enumerate(found) if _is_value(found, at) and not _is_bound(token, at, loops)]


def _is_value(found: tuple[Token, ...], at: int) -> bool:
    if found[at].kind != "name" or found[at].text in _KEYWORDS:
        return False
    member = at > 0 and found[at - 1].text == "."
    called = at + 1 < len(found) and found[at + 1].text == "("
    return not member and not called


def _is_bound(token: Token, at: int, loops: list[_Loop]) -> bool:
    return any(loop.macro < at < loop.end and loop.variable == token.text for loop in loops)


def _key_after(found: tuple[Token, ...], at: int) -> str | None:
    texts = [token.text for token in found[at + 1 : at + 4]]
    if len(texts) > 1 and texts[0] == "." and found[at + 2].kind == "name":
        called = len(texts) > 2 and texts[2] == "("  # noqa: PLR2004
        return None if called else texts[1]
    if len(texts) > 2 and texts[0] == "[" and texts[2] == "]":  # noqa: PLR2004
        return _literal(found[at + 2])
    return None


def _inside_has(found: tuple[Token, ...], at: int) -> bool:
    return at > 1 and found[at - 1].text == "(" and found[at - 2].text == "has"


def _is_whole_item(found: tuple[Token, ...], at: int, loop: _Loop) -> bool:
    if found[at].text != loop.variable or not _is_value(found, at) or at == loop.macro + 2:
        return False
    return at + 1 >= len(found) or found[at + 1].text not in (".", "[")


def _comprehension(found: tuple[Token, ...], loop: _Loop, loops: list[_Loop]) -> Comprehension:
    body = range(loop.macro + 3, loop.end)
    outer = [found[at].text for at in _value_names(found, loops) if at in body]
    return Comprehension(
        macro=found[loop.macro].text,
        names=sum(_is_value(found, at) for at in body),
        outer=tuple(outer),
        keeps_items=found[loop.macro].text == "filter" or any(_is_whole_item(found, at, loop) for at in body),
        nested=any(other.macro < loop.macro < other.end for other in loops),
    )
