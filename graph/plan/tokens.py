"""Cutting expressions into tokens, and text into literal pieces and expressions."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from graph.plan.json_values import JSON

# A comment could hide brackets from the reader below while CEL skips them, so there is none here.
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f]+)
    |(?P<string>
        (?:[rR][bB]?|[bB][rR])(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')
        |[bB]?(?:\"{3}(?:[^\\]|\\[\s\S])*?\"{3}|'{3}(?:[^\\]|\\[\s\S])*?'{3}
                |"(?:[^"\\\n\r]|\\[^\n\r])*"|'(?:[^'\\\n\r]|\\[^\n\r])*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?[uU]?)
    |(?P<name>[^\W\d]\w*)
    |(?P<mark>&&|\|\||[<>=!]=|//|[^\w\s"'])""",
    re.VERBOSE,
)
_MOST_CACHED_CHARS = 2000
_RECKONING = frozenset("+-*/")
_OPENING = {")": "(", "]": "[", "}": "{"}


class Token(NamedTuple):
    """One token of an expression: string, number, name or mark, and where it ends in the text."""

    kind: str
    text: str
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text: literal text, or the text of an expression."""

    text: str
    is_expression: bool


class BrokenText(ValueError):  # noqa: N818 - caught and turned into a problem by its only callers
    """A `${` in a text that no `}` closes."""


def tokens(text: str) -> tuple[tuple[Token, ...], str | None]:
    """Cut an expression into tokens.

    Returns:
        The tokens and None, or the tokens so far and why the rest cannot be read.
    """
    found: list[Token] = []
    at, open_marks = 0, [""]
    while at < len(text):
        token = _token_at(text, at)
        if token is None or token.text == "//":
            return tuple(found), _unreadable(text, at)
        at = token.end
        if token.kind != "space":
            found.append(token)
        if not _follow(token, open_marks):
            return tuple(found), f"unbalanced {token.text!r} at character {at}"
    return tuple(found), None if len(open_marks) == 1 else f"{open_marks[-1]!r} is never closed"


def with_doubles(text: str) -> str | None:
    """Return an expression with doubles, `a / 2.0` for `a / 2`; None for one that does not reckon."""
    found, fault = tokens(text)
    marks = [token.kind == "mark" and token.text in _RECKONING for token in found]
    if fault is not None or not any(marks):
        return None
    pieces, at = [], 0
    for place, token in enumerate(found):
        if token.text.isdecimal() and any(marks[max(place - 1, 0) : place + 2]):
            pieces += [text[at : token.end], ".0"]
            at = token.end
    return "".join([*pieces, text[at:]])


def _token_at(text: str, at: int) -> Token | None:
    match = _TOKEN.match(text, at)
    return None if match is None else Token(match.lastgroup or "", match.group(), match.end())


def _unreadable(text: str, at: int) -> str:
    if text.startswith("//", at):
        return "comments (//) are not allowed in expressions; remove it"
    if text[at] in "\"'":
        return f"the quoted text that starts at character {at + 1} never ends; close the quote"
    return f"unreadable at character {at + 1}"


def _follow(token: Token, open_marks: list[str]) -> bool:
    if token.kind == "mark" and token.text in "([{":
        open_marks.append(token.text)
    elif token.kind == "mark" and token.text in _OPENING:
        return open_marks.pop() == _OPENING[token.text]
    return True


def split_text(text: str) -> tuple[Piece, ...]:
    """Split text at its `${...}` expressions; `$${` becomes a literal `${`.

    Raises:
        BrokenText: An expression is never closed.
    """
    return _split_short(text) if len(text) <= _MOST_CACHED_CHARS else _split(text)


@lru_cache(maxsize=8192)
def _split_short(text: str) -> tuple[Piece, ...]:
    return _split(text)


def _split(text: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    literal: list[str] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        literal.append(text[at:start])
        if start > at and text[start - 1] == "$":
            literal[-1] = literal[-1][:-1]
            literal.append("${")
            at = start + 2
            continue
        end = _expression_end(text, start + 2)
        pieces += [Piece("".join(literal), is_expression=False), Piece(text[start + 2 : end].strip(), True)]
        literal, at = [], end + 1
    literal.append(text[at:])
    pieces.append(Piece("".join(literal), is_expression=False))
    return tuple(piece for piece in pieces if piece.text or piece.is_expression)


def _expression_end(text: str, start: int) -> int:
    at, depth = start, 0
    while at < len(text):
        token = _token_at(text, at)
        if token is None:
            break
        depth += (token.text == "{") - (token.text == "}")
        if depth < 0:
            return at
        at = token.end
    msg = f"${{ at character {start - 1} is never closed; add the }} or write $${{ for a literal ${{"
    raise BrokenText(msg)


def escape_text(text: str) -> str:
    """Write text so that it comes out of `resolve` unchanged, whatever `${` it holds."""
    return text.replace("${", "$${")


def escaped(value: JSON) -> JSON:
    """Write a value so that it comes out of `resolve` unchanged, whatever `${` its texts hold."""
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, list):
        return [escaped(item) for item in value]
    if isinstance(value, dict):
        return {key: escaped(item) for key, item in value.items()}
    return value
