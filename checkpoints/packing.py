"""Between records and what a LangGraph store can hold.

Stores write JSON with limits of their own: SQLite's refuses integers beyond 64 bits, half surrogates and
deep nesting and turns NaN into null, Postgres refuses NUL in text. A record that meets one of these is kept
as JSON text inside the stored object; all others are kept as they are, readable and searchable.
"""

import hashlib
import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from checkpoints.entries import ENTRY_FORMAT, OutputRef, RunEntry, StepEntry
from checkpoints.errors import StoreFormatError
from graph.plan.json_values import JSON

E = TypeVar("E", StepEntry, RunEntry)

_TEXT = "$json"
_LONG_NUMBER = re.compile("[0-9]{19}")
_NOT_PORTABLE = ("NaN", "Infinity", "\\u0000")
_DEEP = 199
"""Levels that a field's value may have in a store that counts the entry around it as one of 200."""
_PREVIEW_CHARS = 200
_LONG = 10**18
_CONTAINERS = frozenset({dict, list})
_FEW = 32
_MOST_BYTES_OF_CHAR = 6
_MOST_BYTES_OF_NUMBER = 32
_MARKS = 4
"""Bytes of the marks around and after a text."""


def pack(data: dict[str, Any]) -> dict[str, Any]:
    """Return an object that any store holds without loss.

    Args:
        data: JSON data with its `format`.
    """
    if all(map(_portable, data.values())):
        return data
    return {"format": data["format"], _TEXT: json.dumps(data, separators=(",", ":"))}


def unpack(stored: dict[str, Any], where: str) -> dict[str, Any]:
    """Return what `pack` was given.

    Args:
        stored: The stored object.
        where: What it is, for the message.

    Raises:
        StoreFormatError: When a newer version wrote it, or it is damaged.
    """
    written = stored.get("format")
    if not isinstance(written, int):
        raise StoreFormatError(
            f"{where} is damaged: it has no format number; restore the database from a copy"
        )
    if written > ENTRY_FORMAT:
        raise StoreFormatError(
            f"{where} has format {written}, this version reads up to {ENTRY_FORMAT}; upgrade planrail"
        )
    text = stored.get(_TEXT)
    return stored if text is None else dict(json.loads(text))


def record(kind: type[E], stored: dict[str, Any], where: str) -> E:
    """Return the record that was stored.

    Args:
        kind: StepEntry or RunEntry.
        stored: The stored object.
        where: What it is, for the message.

    Raises:
        StoreFormatError: When a newer version wrote it, or it is damaged.
    """
    try:
        return kind.model_validate(unpack(stored, where))
    except ValidationError as error:
        fields = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}))
        raise StoreFormatError(
            f"{where} is damaged or of another version (see {fields}); upgrade planrail, or restore the "
            "database from a copy"
        ) from error


def set_aside(value: JSON, inline_bytes: int) -> tuple[OutputRef, str] | None:
    """Return the reference and the JSON text of a value that is too large to be kept inline, else None.

    Args:
        value: Any JSON.
        inline_bytes: Largest size, as JSON text in UTF-8, that stays inline.
    """
    if _surely_fits(value, inline_bytes):
        return None
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= inline_bytes:
        return None
    if not _encodable(text):
        text = json.dumps(value, separators=(",", ":"))
    preview = text[:_PREVIEW_CHARS]
    return OutputRef(digest=hashlib.sha256(raw).hexdigest()[:40], bytes=len(raw), preview=preview), text


def _surely_fits(value: JSON, inline_bytes: int) -> bool:
    """Tell, without making its JSON text, that a small value stays inline; False says nothing."""
    if isinstance(value, dict):
        if len(value) > _FEW:
            return False
        names_and_values = [*value, *value.values()]
    else:
        names_and_values = [value]
    left = inline_bytes
    for part in names_and_values:
        if isinstance(part, str):
            left -= _MOST_BYTES_OF_CHAR * len(part) + _MARKS
        elif part is None or isinstance(part, (bool, float)) or (type(part) is int and abs(part) < _LONG):
            left -= _MOST_BYTES_OF_NUMBER
        else:
            return False
    return left >= _MARKS


def _portable(value: object) -> bool:
    """Tell whether any store keeps a value of the stored object as it is."""
    if isinstance(value, str):
        return "\x00" not in value and (value.isascii() or _encodable(value))
    if value is None or (isinstance(value, int) and -_LONG < value < _LONG):
        return True
    if isinstance(value, dict) and len(value) <= _FEW and _CONTAINERS.isdisjoint(map(type, value.values())):
        return all(map(_portable, value)) and all(map(_portable, value.values()))
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if any(part in text for part in _NOT_PORTABLE) or _LONG_NUMBER.search(text) or not _encodable(text):
        return False
    return text.count("[") + text.count("{") < _DEEP or not _deeper_than(value, _DEEP)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _deeper_than(data: object, levels: int) -> bool:
    layer = [data]
    for _ in range(levels):
        layer = [child for parent in layer for child in _children(parent)]
        if not layer:
            return False
    return True


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
