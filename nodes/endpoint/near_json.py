"""JSON as models write it: the dialects whose meaning is certain are read, nothing else is repaired.

Certain are a trailing comma, comments, Python's None, True and False, a Python dict in single quotes, a byte
order mark, full-width commas and colons between values, typographic quotes around texts, raw line breaks
in texts. An object that ends early is never completed: what is missing may be what mattered.
"""

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from graph.plan import json_fault

_BARE = re.compile(r"[^\W\d]\w*")
_WORDS = {"None": "null", "True": "true", "False": "false"}
_WIDE = {"，": ",", "：": ":", "\ufeff": ""}  # noqa: RUF001 - these are the very characters
_CLOSERS = {"{": "}", "[": "]"}
_COMMENTS = {"//": "\n", "/*": "*/"}
_FOREIGN_ESCAPE = re.compile(r"\\(?![\\\"'nrtbf]|u[0-9a-fA-F]{4})")
_PAIRED_ESCAPE = re.compile(r"\\u[dD][89abAB]")


class NotReadable(Exception):  # noqa: N818 - the text is at fault, not the program
    """The text holds no JSON value here that can be read with certainty; the message says why."""


class EndsEarly(NotReadable):
    """The value is cut off."""


def read_value(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends.

    Raises:
        EndsEarly: The text ends before the value does.
        NotReadable: It is no JSON, nor a dialect whose meaning is certain.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise NotReadable("it is nested too deep") from None
    except ValueError as error:
        problem = NotReadable(str(error))
    tidy = _Tidy(text, start)
    tidy.run()
    if tidy.quoted_singly:
        return _python_literal(text[start : tidy.at], problem), tidy.at
    try:
        value, end = _DECODER.raw_decode("".join(tidy.out))
    except (ValueError, RecursionError):
        raise problem from None
    if end != len("".join(tidy.out)):
        raise problem
    return value, tidy.at


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {json.dumps(twice[:40])} occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique_keys, strict=False)


@dataclass
class _Tidy:
    """One walk over a value, writing what it means as JSON. `at` is where it stands, then where it ended."""

    text: str
    at: int
    out: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    quoted_singly: bool = False

    def run(self) -> None:
        while True:
            if self.at >= len(self.text):
                raise EndsEarly("it ends before it is complete")
            self._step()
            if not self.open:
                return

    def _step(self) -> None:
        char = self.text[self.at]
        if char in "\"'“”":
            self._quoted(char)
        elif self.text[self.at : self.at + 2] in _COMMENTS:
            end = self._find(_COMMENTS[self.text[self.at : self.at + 2]], self.at + 2)
            self._write(" ", end)
        elif char in _CLOSERS:
            self.open.append(_CLOSERS[char])
            self._write(char, self.at + 1)
        elif char in "}]":
            self._close(char)
        else:
            self._plain(char)

    def _plain(self, char: str) -> None:
        word = _BARE.match(self.text, self.at)
        if word is not None:
            self._write(_WORDS.get(word.group(), word.group()), word.end())
        else:
            self._write(" " if char.isspace() else _WIDE.get(char, char), self.at + 1)

    def _close(self, char: str) -> None:
        if not self.open or self.open.pop() != char:
            raise NotReadable(f"a {char} closes nothing")
        last = next((at for at in range(len(self.out) - 1, -1, -1) if self.out[at].strip()), None)
        before = next((self.out[at] for at in range((last or 0) - 1, -1, -1) if self.out[at].strip()), "")
        if last is not None and self.out[last] == "," and before not in ("", ",", "[", "{"):
            self.out[last] = ""
        self._write(char, self.at + 1)

    def _quoted(self, mark: str) -> None:
        closing = "”" if mark in "“”" else mark
        end = self._find(closing, self.at + 1)
        inside = self.text[self.at + 1 : end - 1]
        if mark == "'":
            self.quoted_singly = True
        if mark in "“”":
            if "“" in inside:
                raise NotReadable("typographic quotes stand inside typographic quotes")
            inside = re.sub(r'(?<!\\)"', r"\"", inside)
        self._write(f'"{inside}"', end)

    def _find(self, closing: str, start: int) -> int:
        """Behind the next `closing` that no backslash escapes; comments have no escapes, nor backslashes."""
        at = start
        while at < len(self.text):
            if self.text.startswith(closing, at):
                return at + len(closing)
            at += 2 if self.text[at] == "\\" and len(closing) == 1 and closing != "\n" else 1
        raise EndsEarly("it ends before it is complete")

    def _write(self, text: str, at: int) -> None:
        self.out.append(text)
        self.at = at


def _python_literal(text: str, problem: NotReadable) -> Any:
    """A Python dict as data, where Python and JSON agree on what its texts mean."""
    if _FOREIGN_ESCAPE.search(text) or _PAIRED_ESCAPE.search(text):
        raise problem
    try:
        tree = ast.parse(text.strip(), mode="eval")
        value = ast.literal_eval(tree)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise problem from None
    for node in ast.walk(tree):
        keys = [key.value for key in getattr(node, "keys", []) if isinstance(key, ast.Constant)]
        if len(set(keys)) != len(keys):
            raise problem
    if json_fault(value) is not None or json.loads(json.dumps(value)) != value:
        raise problem
    return value
