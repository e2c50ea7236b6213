"""Typed parameters of a template."""

import math
import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from graph.plan.json_values import JSON, json_fault, json_type
from graph.plan.patterns import compiled, fits

_INT = re.compile(r"[+-]?\d{1,30}")
_NUMBER = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?")
_MAX_CHARS = 2000


class Param(BaseModel):
    """One parameter: its type, what restricts it, and its default. Without a default it must be given.

    `pattern` is a regular expression that the whole text must fit; `choices` are the values of an enum.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["str", "int", "number", "bool", "enum"] = "str"
    description: str = ""
    default: JSON = None
    pattern: str | None = None
    choices: tuple[str, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.type == "enum") != (self.choices is not None):
            raise ValueError("choices and type: enum go together; give both or neither")
        if self.pattern is not None:
            if self.type != "str":
                raise ValueError("pattern goes with type: str only")
            compiled(self.pattern)
        if not self.required and self.default is not None:
            self.read(self.default)
        return self

    @property
    def required(self) -> bool:
        return "default" not in self.model_fields_set

    def read(self, value: JSON) -> JSON:
        """The value in the parameter's type; text is read as that type.

        Raises:
            ValueError: It does not fit; the message says what does.
        """
        match self.type:
            case "bool":
                return _bool(value)
            case "int" | "number":
                return _number(value, whole=self.type == "int")
            case _:
                return self._text(value)

    def _text(self, value: JSON) -> str:
        if not isinstance(value, str):
            raise ValueError(f"it must be text, this is {json_type(value)}")
        text = value.strip()
        if not text or len(text) > _MAX_CHARS:
            raise ValueError(f"it must be text of 1 to {_MAX_CHARS} characters")
        fault = json_fault(text)
        if fault is not None:
            raise ValueError(fault)
        if self.choices is not None:
            return _choice(text, self.choices)
        if self.pattern is not None and not fits(self.pattern, text):
            raise ValueError(f"{text[:80]!r} does not fit the pattern {self.pattern}")
        return text


def _bool(value: JSON) -> bool:
    if isinstance(value, bool):
        return value
    said = value.strip().casefold() if isinstance(value, str) else ""
    if said not in ("true", "false"):
        raise ValueError("it must be true or false")
    return said == "true"


def _number(value: JSON, *, whole: bool) -> int | float:
    kind = "a whole number" if whole else "a number"
    if isinstance(value, str) and (_INT if whole else _NUMBER).fullmatch(value.strip()):
        text = value.strip()
        return int(text) if _INT.fullmatch(text) else float(text)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"it must be {kind}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"it must be {kind}, not {value}")
    return value


def _choice(text: str, choices: tuple[str, ...]) -> str:
    for choice in choices:
        if choice.casefold() == text.casefold():
            return choice
    raise ValueError(f"{text[:80]!r} is none of {', '.join(choices)}")
