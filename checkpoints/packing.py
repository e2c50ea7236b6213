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
_DEEP = 200
_PREVIEW_CHARS = 200


def pack(data: dict[str, Any]) -> dict[str, Any]:
    """Return an object that any store holds without loss.

    Args:
        data: JSON data with its `format`.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if _portable(data, text):
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
            f"{where} is damaged or of another version (see {fields}); restore the database from a copy"
        ) from error


def set_aside(value: JSON, inline_bytes: int) -> tuple[OutputRef, str] | None:
    """Return the reference and the JSON text of a value that is too large to be kept inline, else None.

    Args:
        value: Any JSON.
        inline_bytes: Largest size, as JSON text in UTF-8, that stays inline.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= inline_bytes:
        return None
    if not _encodable(text):
        text = json.dumps(value, separators=(",", ":"))
    preview = text[:_PREVIEW_CHARS]
    return OutputRef(digest=hashlib.sha256(raw).hexdigest()[:40], bytes=len(raw), preview=preview), text


def _portable(data: dict[str, Any], text: str) -> bool:
    if any(part in text for part in _NOT_PORTABLE) or _LONG_NUMBER.search(text) or not _encodable(text):
        return False
    return text.count("[") + text.count("{") < _DEEP or not _deeper_than(data, _DEEP)


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
