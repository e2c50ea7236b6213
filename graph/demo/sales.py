"""A small sales database, the same each time it is made."""

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Final

FIRST_DAY: Final = date(2026, 2, 9)
"""A Monday; the sales go on for four weeks from here."""

LAST_MONDAY: Final = date(2026, 3, 2)

_DAYS = 28
_PRICES: Final = {"茶壶": 12_900, "茶杯": 3_950, "保温杯": 8_900, "Tea & Co. <Set>": 25_990}
"""What a product costs, in cents."""

_REGIONS: Final = ("华东", "华南", "华北", "Nord & Süd", "西南")
_OPENED: Final = {"西南": LAST_MONDAY}
"""Regions that sold nothing before a day."""

_SCHEMA = """
CREATE TABLE sales (day TEXT NOT NULL, region TEXT NOT NULL, product TEXT NOT NULL,
    quantity INTEGER NOT NULL, amount_cents INTEGER NOT NULL)
"""


def make_sales(file: Path) -> None:
    """Write the database, unless it is there: whole or not at all."""
    if file.exists():
        return
    part = file.with_name(f".{uuid.uuid4().hex}.part")
    with closing(sqlite3.connect(part)) as base, base:
        base.execute(_SCHEMA)
        base.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", _rows())
    os.replace(part, file)  # noqa: PTH105 - the same on every system, also over a file that is there


def _rows() -> Iterator[tuple[str, str, str, int, int]]:
    for number in range(_DAYS):
        day = FIRST_DAY + timedelta(number)
        for at, region in enumerate(_REGIONS):
            for which, (product, price) in enumerate(_PRICES.items()):
                quantity = (number * 7 + at * 5 + which * 11 + number // 7 * at) % 9 - at
                if quantity > 0 and day >= _OPENED.get(region, FIRST_DAY):
                    yield day.isoformat(), region, product, quantity, quantity * price
