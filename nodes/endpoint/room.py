"""How long an endpoint says that an answer may be, when it finds the cap on its tokens too large."""

import re
from dataclasses import dataclass

_READ_CHARS = 1_000
_CAP = re.compile(
    r"max_(?:completion_|output_|new_)?tokens|(?:completion|output) tokens|output length", re.IGNORECASE
)
_OTHER = re.compile(r"input|prompt|messages|quota|minute|second|rate", re.IGNORECASE)
"""Words of a limit that is not the answer's alone, or that passes."""
_COUNT = r"(\d{1,3}(?:,\d{3})+|\d{1,9})(?![\d,.]*\d)"
_MOST = re.compile(
    rf"(?:at most|up to|<=|less than or equal to|\d >|maximum output length is|maximum (?:value )?(?:is|of)) "
    rf"{_COUNT}",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"context length (?:is|of) (?P<all>\d{1,9}) tokens\b.{0,200}?"
    r"(?P<prompt>\d{1,9}) (?:input tokens|in (?:the|your) (?:messages|prompt|input))",
    re.IGNORECASE | re.DOTALL,
)
_SUM = re.compile(r"context limit: (?P<prompt>\d{1,9}) \+ \d{1,9} > (?P<all>\d{1,9})\b", re.IGNORECASE)
_LEAST = 16
"""With less room than this there is nothing to be said."""


@dataclass(frozen=True)
class Room:
    """The most tokens of an answer: of any, when `lasting`, or beside this one prompt."""

    tokens: int
    lasting: bool


def told_room(complaint: str, cap: int) -> Room | None:
    """The room that a complaint tells of, below the cap that was sent; None when it tells of none."""
    text = complaint[:_READ_CHARS]
    beside = _CONTEXT.search(text) or _SUM.search(text)
    if beside is not None:
        tokens, lasting = int(beside["all"]) - int(beside["prompt"]), False
    else:
        most = _MOST.search(text) if _CAP.search(text) and not _OTHER.search(text) else None
        if most is None:
            return None
        tokens, lasting = int(most[1].replace(",", "")), True
    return Room(tokens, lasting) if _LEAST <= tokens < cap else None
