"""The examples of docs/plan-language.md: a plan, and a line that tells what becomes of it.

    → setting `max_replans=0`; model says `refund`; `pay` `not_taken`; book `mail to ada@x.test: hello`

What the line leaves out is as usual: the run and all steps succeed, at the first revision, no model is asked,
and nothing is written into the book.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "plan-language.md"
TEXT = PAGE.read_text("utf-8")

_FENCE = re.compile(
    r"^```json plan\n(?P<plan>.*?)^```\n+(?P<told>→ .*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE
)
_CLAUSE = re.compile(r"(?:[^`;]|`[^`]*`)+")
_CODE = re.compile(r"`([^`]*)`")


@dataclass(frozen=True)
class Example:
    """One plan with its clauses: the words of each, `{}` for a value, and the values."""

    line: int
    plan: dict[str, Any]
    clauses: tuple[tuple[str, tuple[str, ...]], ...]

    def values(self, words: str) -> list[tuple[str, ...]]:
        """The values of all clauses of these words."""
        return [values for said, values in self.clauses if said == words]

    def texts(self, words: str) -> list[str]:
        """As `values`, of clauses with one value."""
        return [text for (text,) in self.values(words)]

    def pairs(self, words: str) -> dict[str, str]:
        """As `values`, of clauses with two values, by the first."""
        return {first: second for first, second in self.values(words)}  # noqa: C416 - each has two

    def one(self, words: str, usual: str) -> str:
        """The value of the one clause of these words, or the usual one."""
        return next(iter(self.texts(words)), usual)


def examples() -> list[Example]:
    return [_read(found) for found in _FENCE.finditer(TEXT)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)


def _read(found: re.Match[str]) -> Example:
    told = " ".join(found["told"].removeprefix("→ ").split())
    clauses = [_clause(text.strip()) for text in _CLAUSE.findall(told)]
    line = TEXT.count("\n", 0, found.start()) + 1
    return Example(line, json.loads(found["plan"]), tuple(clauses))


def _clause(text: str) -> tuple[str, tuple[str, ...]]:
    return _CODE.sub("{}", text), tuple(_CODE.findall(text))
