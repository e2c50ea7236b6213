"""Rows of a database as JSON data, within limits."""

import datetime as dt
import json
import math
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from graph.plan import JSON
from tools.errors import HardToolError
from tools.results import to_json

_EXACT_DIGITS = 15
"""Decimal digits that a JSON number, read as a double, always keeps."""

_KEPT = (
    *(str, bool, int, type(None), bytes, bytearray, memoryview),
    *(dt.date, dt.time, dt.timedelta, uuid.UUID),
)


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What one query may take.

    Attributes:
        max_rows: Rows of a result; what is beyond is left out and told.
        max_chars: Characters of a result as JSON text, likewise.
        seconds: How long the database may work on it.
        busy_seconds: How long it may wait for other users' locks, or for the connection.
    """

    max_rows: int = 1000
    max_chars: int = 1_000_000
    seconds: float = 15.0
    busy_seconds: float = 5.0


def tabulate(names: Sequence[str], rows: Iterable[Sequence[object]], limits: QueryLimits) -> dict[str, JSON]:
    """Return `{"columns": [name], "rows": [{name: value}], "truncated": bool}`.

    Args:
        names: The columns' names; one that comes again gets a number.
        rows: May be longer than the limits allow; no more than one row beyond them is read.
        limits: `max_rows` and `max_chars`.

    Raises:
        HardToolError: "result_too_large": already the first row is.
    """
    columns = distinct(names)
    kept: list[JSON] = []
    chars = 0
    truncated = False
    for row in rows:
        record: dict[str, JSON] = {name: json_value(value) for name, value in zip(columns, row, strict=True)}
        chars += len(json.dumps(record, ensure_ascii=False))
        truncated = len(kept) >= limits.max_rows or chars > limits.max_chars
        if truncated:
            break
        kept.append(record)
    if truncated and not kept and limits.max_rows:
        message = f"one row has more than {limits.max_chars} characters; select fewer or shorter columns"
        raise HardToolError("result_too_large", message)
    return {"columns": list(columns), "rows": kept, "truncated": truncated}


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with `_2`, `_3` and so on where one would come again."""
    taken: set[str] = set()
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        candidate = name
        while candidate in taken or (candidate != name and candidate in names):
            seen[name] += 1
            candidate = f"{name}_{seen[name] + 1}"
        taken.add(candidate)
        result.append(candidate)
    return result


def json_value(value: object) -> JSON:
    """Return one cell as JSON.

    A decimal becomes a number where that keeps all its digits, and text otherwise; NaN and infinities become
    text; dates ISO 8601 text; bytes `{"$bytes": base64}`; what only the database knows, its text.
    """
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _not_finite(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return to_json(value if isinstance(value, _KEPT) else str(value))


def _decimal(value: Decimal) -> JSON:
    if not value.is_finite():
        return _not_finite(float(value)) if not value.is_snan() else "NaN"
    if value == value.to_integral_value() and abs(value) < 10**_EXACT_DIGITS:
        return int(value)
    return float(value) if len(value.as_tuple().digits) <= _EXACT_DIGITS else str(value)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
