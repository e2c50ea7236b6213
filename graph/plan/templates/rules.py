"""Rules that recognise the goals a template is for, without a model."""

import re
import unicodedata
from functools import lru_cache
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from graph.plan.patterns import PatternError, compiled, groups_found

MAX_GOAL_CHARS = 2000
"""Longer goals are never matched by rule: they are more than one frequent task."""


class Rule(BaseModel):
    """A rule fits when every keyword occurs and the regular expression is found; case does not count.

    A keyword may be a list: one of it must occur. Named groups of the expression give parameters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    keywords: tuple[tuple[str, ...], ...] = ()
    regex: str | None = Field(default=None, min_length=1)

    @field_validator("keywords", mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, given: object) -> object:
        if not isinstance(given, (list, tuple)):
            return given
        return tuple((each,) if isinstance(each, str) else each for each in given)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.keywords and self.regex is None:
            raise ValueError("a rule needs keywords, a regex or both")
        if any(not words or any(not word.strip() for word in words) for words in self.keywords):
            raise ValueError("a keyword is empty")
        if self.regex is not None:
            compiled(self.regex, ignore_case=True)
        return self

    @property
    def groups(self) -> frozenset[str]:
        """The parameters that the rule can give."""
        if self.regex is None:
            return frozenset()
        return frozenset(compiled(self.regex, ignore_case=True).groupindex)

    def captures(self, goal: str) -> dict[str, str] | None:
        """The texts of the groups when the rule fits this goal, else None.

        A goal in which the expression finds different things (two order numbers) does not fit, nor does one
        over which it takes too long.
        """
        if len(goal) > MAX_GOAL_CHARS:
            return None
        text = unicodedata.normalize("NFKC", goal).strip()
        if not all(any(_occurs(word, text) for word in words) for words in self.keywords):
            return None
        if self.regex is None:
            return {}
        try:
            found = groups_found(self.regex, text)
        except PatternError:
            return None
        return found[0] if found and all(each == found[0] for each in found) else None


def _occurs(word: str, text: str) -> bool:
    return _keyword(word).search(text) is not None


@lru_cache(maxsize=4096)
def _keyword(word: str) -> re.Pattern[str]:
    """A word with Latin letters or digits at its ends stands alone; other scripts have no spaces to tell."""
    plain = unicodedata.normalize("NFKC", word).strip()
    before = "(?<![a-z0-9])" if re.match("[a-z0-9]", plain, re.IGNORECASE) else ""
    after = "(?![a-z0-9])" if re.search("[a-z0-9]$", plain, re.IGNORECASE) else ""
    return re.compile(before + re.escape(plain) + after, re.IGNORECASE)
