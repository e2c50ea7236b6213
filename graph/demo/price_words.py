"""Which sentences about prices stand on the prices: pure, whoever wrote them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graph.plan import Sources

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\s\d])|(?<=[\u3002\uff01\uff1f])\s*|\n+")
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_IN_WORDS = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|half|third|quarter|double|twice)\b|[二三四五六七八九十百千万]",
    re.IGNORECASE,
)


def split_by_support(
    text: str, rows: Sequence[Mapping[str, Any]], silent: Iterable[str]
) -> tuple[list[str], list[dict[str, str]]]:
    """The sentences that the rows support, and the others with the reason.

    A sentence that names a shop without prices is never supported, for nothing is known of it. A figure
    must stand in a row that the sentence speaks of: of a shop and a product that it names, of any where it
    names none. Figures in words are not supported: nobody holds them against the rows.

    Args:
        text: What was written.
        rows: `{"product", "name", "shop", "price", "last", "change"}` each.
        silent: The shops without prices.
    """
    absent = list(silent)
    kept: list[str] = []
    left_out: list[dict[str, str]] = []
    for sentence in filter(None, map(str.strip, _SENTENCE_END.split(text))):
        why = _fault(sentence, rows, absent)
        if why is None:
            kept.append(sentence)
        else:
            left_out.append({"sentence": sentence, "why": why})
    return kept, left_out


def _fault(sentence: str, rows: Sequence[Mapping[str, Any]], missing: Sequence[str]) -> str | None:
    folded = sentence.casefold()
    unknown = next((shop for shop in missing if shop.casefold() in folded), None)
    if unknown is not None:
        return f"{unknown} gave no prices"
    plain = _without_names(sentence, rows)
    if _IN_WORDS.search(plain):
        return "it has a figure in words"
    figures = _figures_of(_spoken_of(folded, rows))
    made_up = [figure for figure in _FIGURE.findall(plain) if figures.lacks(figure)]
    return f"{made_up[0]} is in no row that it speaks of" if made_up else None


def _without_names(sentence: str, rows: Sequence[Mapping[str, Any]]) -> str:
    names = {str(row[field]) for row in rows for field in ("product", "name", "shop")}
    longest_first = sorted(names, key=len, reverse=True)
    return (
        re.sub("|".join(map(re.escape, longest_first)), " ", sentence, flags=re.IGNORECASE)
        if names
        else sentence
    )


def _spoken_of(folded: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    of_shop = [row for row in rows if str(row["shop"]).casefold() in folded] or list(rows)
    named = [row for row in of_shop if _names_product(folded, row)]
    return named or ([] if any(_names_product(folded, row) for row in rows) else of_shop)


def _names_product(folded: str, row: Mapping[str, Any]) -> bool:
    return any(str(row[field]).casefold() in folded for field in ("product", "name"))


def _figures_of(rows: Iterable[Mapping[str, Any]]) -> Sources:
    figures = [row[field] for row in rows for field in ("price", "last", "change")]
    return Sources(figures, [abs(figure) for figure in figures])
