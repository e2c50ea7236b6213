"""Whether a value was found somewhere, or made up: ids, addresses and amounts must have a source.

Compared after normalising case, spacing, full-width forms and the ways numbers are written. A value counts
as found only where it stands alone: `123` is not in `A1234`, and `bob@x.com` is not in `notbob@x.com`.
"""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from graph.plan.json_values import JSON

_LETTER = "a-z\u00df-\u024f\u0370-\u03ff\u0400-\u04ff"
_WORD = "0-9" + _LETTER
_EDGE = "._%+@-"
_LOOSE_CHARS = 6
_LONG_CHARS = 300
_TRIM = " \t\r\n#\"'\u201c\u201d\u2018\u2019<>()[]"
_DASHES = re.compile("[\u2010-\u2015\u2212]")
_SPACES = re.compile(r"\s+")
_LIST_MARKS = re.compile(r"[,;\u3001\n]")
_NOT_DIGITS = re.compile(r"\D+")
_NUMBER = re.compile(r"\d+(?:[.,' ]\d+)*")
_PLAIN = re.compile(r"\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?P<mark>[,.' ])(?:\d{2,3}(?P=mark))*\d{3}(?:(?!(?P=mark))[.,]\d+)?")
_MONEY = (
    "usd|eur|gbp|jpy|cny|rmb|chf|inr|krw|hkd|twd|sgd|aud|cad|nzd|brl|rub|pln|sek|nok|dkk|czk|huf|mxn|zar"
    "|euros?|dollars?|pounds?|yuan|yen|kr"
)
_MONEY_BEFORE = re.compile(rf"(?:^|[^{_WORD}])(?:{_MONEY})$")
_MONEY_AFTER = re.compile(rf"(?:{_MONEY})(?![{_WORD}])")
_MONEY_TEXT = re.compile(
    rf"^(?:{_MONEY}|[^\w.,'+-])?\s*(?P<number>-?\d[\d.,' ]*)\s*(?:{_MONEY}|[^\d.,'a-z]+)?$"
)
_LONGEST_CODE = 10


class Sources:
    """The texts and numbers that values may come from."""

    def __init__(self, *values: JSON) -> None:
        """Take in every text, number and key inside the values."""
        scalars = list(_scalars(list(values), keys=True))
        self._texts = [_normal(scalar) for scalar in scalars if isinstance(scalar, str)]
        self._numbers = {Decimal(str(scalar)) for scalar in scalars if not isinstance(scalar, str)}
        self._digits: list[str] | None = None
        self._whole: frozenset[str] | None = None

    def lacks(self, value: JSON) -> tuple[str | int | float, ...]:
        """Return the texts and numbers of a value that none of the sources holds."""
        return tuple(scalar for scalar in _scalars(value, keys=False) if not self._holds(scalar))

    def _holds(self, scalar: str | float) -> bool:
        if not isinstance(scalar, str):
            return self._has_number(Decimal(str(scalar)))
        text = _normal(scalar).strip(_TRIM)
        if not text or self._is_whole(text) or self._finds(text) or self._counts(text):
            return True
        parts = [part for part in _LIST_MARKS.split(scalar) if part.strip()]
        return len(parts) > 1 and all(self._holds(part) for part in parts)

    def _is_whole(self, text: str) -> bool:
        """Tell whether a text is one of the sources: mostly so, and found at once among thousands."""
        if self._whole is None:
            self._whole = frozenset(source.strip(_TRIM) for source in self._texts)
        return text in self._whole

    def _finds(self, text: str) -> bool:
        if len(text) > _LONG_CHARS:
            return any(text in source for source in self._texts)
        pattern = _standing_alone(text)
        return any(pattern.search(source) for source in self._texts)

    def _counts(self, text: str) -> bool:
        money = _MONEY_TEXT.match(text)
        if money is None:
            return False
        number = money["number"].strip()
        digits = number.lstrip("-")
        if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
            return False  # 0042 is an id, and not the number 42
        sign = -1 if number.startswith("-") else 1
        return any(self._has_number(sign * reading) for reading in _readings(digits))

    def _has_number(self, number: Decimal) -> bool:
        if number in self._numbers:
            return True
        # Reading every number of a large result takes a second; few texts hold these very digits.
        digits = str(abs(int(number)))
        if self._digits is None:
            self._digits = [_NOT_DIGITS.sub("", text) for text in self._texts]
        candidates = (text for text, held in zip(self._texts, self._digits, strict=True) if digits in held)
        return any(number in _numbers_in(text) for text in candidates)


def _scalars(value: JSON, *, keys: bool) -> Iterator[str | int | float]:
    todo: list[JSON] = [value]
    while todo:
        current = todo.pop()
        if isinstance(current, dict):
            todo.extend(reversed(current.values()))
            todo.extend(current.keys() if keys else ())
        elif isinstance(current, list):
            todo.extend(reversed(current))
        elif isinstance(current, (str, int, float)) and not isinstance(current, bool):
            yield current


def _normal(text: str) -> str:
    plain = _DASHES.sub("-", unicodedata.normalize("NFKC", text))
    return _SPACES.sub(" ", plain.casefold())


@lru_cache(maxsize=512)
def _standing_alone(text: str) -> re.Pattern[str]:
    bare = text.replace(" ", "")
    loose = " ?" if " " in text or len(bare) >= _LOOSE_CHARS else ""
    body = loose.join(map(re.escape, bare))
    before = f"(?<![{_WORD}])(?<![{_WORD}][{_EDGE}])" if re.match(f"[{_WORD}]", text) else ""
    after = f"(?![{_WORD}])(?![{_EDGE}][{_WORD}])" if re.search(f"[{_WORD}]$", text) else ""
    return re.compile(before + body + after)


def _numbers_in(text: str) -> Iterator[Decimal]:
    """Yield every way to read each number of a text; digits inside an id are no number."""
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()][-_LONGEST_CODE:], text[match.end() :][:_LONGEST_CODE]
        if _part_of_word(before, after):
            continue
        negative = before.endswith("-") and not re.search(f"[{_WORD}]-$", before)
        for reading in _readings(match.group()):
            yield reading
            if negative:
                yield -reading


def _part_of_word(before: str, after: str) -> bool:
    glued_before = re.search(f"(?:[{_LETTER}]-?|_)$", before)
    glued_after = re.match(f"[{_WORD}_]", after)
    return bool(
        (glued_before and not _MONEY_BEFORE.search(before)) or (glued_after and not _MONEY_AFTER.match(after))
    )


def _readings(number: str) -> set[Decimal]:
    """Return what digits with marks between them can stand for: 1,234 is 1234 or 1.234."""
    found: set[Decimal] = set()
    if grouped := _GROUPED.fullmatch(number):
        found.add(Decimal(number.replace(grouped["mark"], "").replace(",", ".")))
    if _PLAIN.fullmatch(number):
        found.add(Decimal(number.replace(",", ".")))
    for mark in (" ", ",", "'"):
        if mark in number and (mark == " " or not found):
            found.update(reading for part in number.split(mark) for reading in _readings(part))
    return found
