"""Budgets: what a run may spend, what is left, and what a call may take of it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from graph.state import Price

CHARS_PER_TOKEN = 4
"""Of Latin letters and spaces; every other character is a token of its own."""

MESSAGE_TOKENS = 4
MIN_OUTPUT_TOKENS = 16
"""Fewer than these are not worth a call; some endpoints refuse less."""

PER_MILLION = 1_000_000
_ROUNDING = 1e-9
_DENSE = re.compile(r"[^A-Za-z\s]")

UNITS = {
    "model_calls": "model calls",
    "tokens": "tokens",
    "cost": "cost",
    "tool_calls": "tool calls",
    "wall_seconds": "seconds",
}


@dataclass(frozen=True)
class Used:
    """What was spent. `cost` is None once a call had no price, `estimated` once a count was a guess."""

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Used") -> "Used":
        return Used(
            self.model_calls + other.model_calls,
            self.tool_calls + other.tool_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.estimated or other.estimated,
        )

    def without(self, other: "Used") -> "Used":
        """What is left of a sum of reservations once `other`, one of them, is gone; nothing is exactly 0."""
        calls = self.model_calls - other.model_calls
        cost = max((self.cost or 0.0) - (other.cost or 0.0), 0.0)
        left = Used(
            calls,
            self.tool_calls - other.tool_calls,
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            cost,
            estimated=True,
        )
        return left if calls else NOTHING

    def to_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Any) -> "Used":
        """What `to_json` wrote; whatever is not there counts as nothing."""
        given: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        return cls(**{field.name: given[field.name] for field in fields(cls) if field.name in given})


NOTHING = Used()


@dataclass(frozen=True)
class Limits:
    """Most of each that may be spent; None is no limit. `prefix` begins the settings' names."""

    model_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    tool_calls: int | None = None
    wall_seconds: float | None = None
    prefix: str = "max_"

    @property
    def bounds_amounts(self) -> bool:
        """Whether an amount is bounded at all; time is not an amount."""
        bounds = (self.model_calls, self.tokens, self.cost, self.tool_calls)
        return any(bound is not None for bound in bounds)

    @property
    def bounds_answers(self) -> bool:
        """Whether an answer's length must be bounded before it is asked for."""
        return self.tokens is not None or self.cost is not None


def lacking(limits: Limits, spent: Used, reserved: Used, need: Used) -> str | None:
    """The first budget that has no room for `need` beside what is spent and reserved, by field name."""
    if not limits.bounds_amounts:
        return None
    after = spent + reserved + need
    amounts = {
        "model_calls": (need.model_calls, after.model_calls),
        "tool_calls": (need.tool_calls, after.tool_calls),
        "tokens": (need.tokens, after.tokens),
        "cost": (need.cost or 0.0, _known_cost(spent) + _known_cost(reserved) + _known_cost(need)),
    }
    for name, (asked, total) in amounts.items():
        limit = getattr(limits, name)
        if limit is not None and asked > 0 and total > limit * (1 + _ROUNDING):
            return name
    return None


def _known_cost(used: Used) -> float:
    return used.cost or 0.0


def told_spent(limits: Limits, name: str) -> str:
    """The sentence that names a spent budget and the remedy."""
    limit = getattr(limits, name)
    setting = f"{limits.prefix}{name}"
    return f"the budget of {limit:g} {UNITS[name]} ({setting}) does not allow more: raise {setting}"


def cost_of(price: Price | None, input_tokens: int, output_tokens: int) -> float | None:
    """What the tokens cost, in the price table's currency; None without a price."""
    if price is None:
        return None
    return (input_tokens * price.input + output_tokens * price.output) / PER_MILLION


def call_need(prompt_tokens: int, output_tokens: int, price: Price | None) -> Used:
    """One model call as it is reserved."""
    return Used(
        model_calls=1,
        input_tokens=prompt_tokens,
        output_tokens=output_tokens,
        cost=cost_of(price, prompt_tokens, output_tokens),
        estimated=True,
    )


def output_room(
    limits: Limits, spent: Used, reserved: Used, *, prompt_tokens: int, price: Price | None, wanted: int
) -> int:
    """Tokens that an answer may have: `wanted`, or what is left behind the prompt; at least 0."""
    taken = spent + reserved
    room = wanted
    if limits.tokens is not None:
        room = min(room, limits.tokens - taken.tokens - prompt_tokens)
    if limits.cost is not None and price is not None and price.output > 0:
        left = limits.cost - _known_cost(spent) - _known_cost(reserved)
        left -= (cost_of(price, prompt_tokens, 0)) or 0.0
        room = min(room, math.floor(left * PER_MILLION / price.output))
    return max(room, 0)


def estimated_tokens(text: str) -> int:
    """Tokens of a text when nobody told: a quarter of its letters, and one for each other character.

    Digits, punctuation and scripts other than Latin come out a little high, which errs on the side
    of the budget.
    """
    dense = len(_DENSE.findall(text))
    return dense + math.ceil((len(text) - dense) / CHARS_PER_TOKEN)


def scaled(tokens: int, scale: float) -> int:
    return math.ceil(tokens * scale)


def actual_use(told: tuple[int | None, int | None], guessed: tuple[int, int], price: Price | None) -> Used:
    """One answered call: the counts that the endpoint told, a guess where it told none."""
    counts = [count if count is not None else guess for count, guess in zip(told, guessed, strict=True)]
    return Used(1, 0, counts[0], counts[1], cost_of(price, *counts), estimated=None in told)


def unanswered_use(need: Used, *, may_have_worked: bool) -> Used:
    """A call without an answer: all that was reserved when it may have been worked on, else one call."""
    return need if may_have_worked else replace(NOTHING, model_calls=need.model_calls)
