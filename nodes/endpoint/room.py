"""How long an endpoint says that an answer may be, when it finds the cap on its tokens too large."""

import re
from dataclasses import dataclass

_CAP = re.compile(
    r"max_(?:completion_|output_|new_)?tokens|(?:completion|output) tokens|output length", re.IGNORECASE
)
_TOO_LARGE = re.compile(
    r"too (?:large|high|big|many|long)|at most|up to|exceed|greater than|less than|maximum|<=", re.IGNORECASE
)
_CONTEXT = re.compile(
    r"context length (?:is|of) (?P<all>\d+) tokens.*?"
    r"(?P<prompt>\d+) (?:input tokens|in (?:the|your) (?:messages|prompt|input))",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w-]|\.\w)")
_LEAST = 16
"""With less room than this there is nothing to be said."""


@dataclass(frozen=True)
class Room:
    """The most tokens of an answer: of any, when `lasting`, or beside this one prompt."""

    tokens: int
    lasting: bool


def told_room(complaint: str, cap: int) -> Room | None:
    """The room that a complaint tells of, below the cap that was sent; None when it tells of none."""
    context = _CONTEXT.search(complaint)
    if context is not None:
        tokens, lasting = int(context["all"]) - int(context["prompt"]), False
    elif _CAP.search(complaint) and _TOO_LARGE.search(complaint):
        below = [int(number) for number in _NUMBER.findall(complaint) if int(number) < cap]
        tokens, lasting = max(below, default=0), True
    else:
        return None
    return Room(tokens, lasting) if _LEAST <= tokens < cap else None
