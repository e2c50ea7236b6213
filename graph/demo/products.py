"""The products of the batch: a SQLite file of three hundred, some of which nobody has measured."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

COUNT = 300
UNMEASURED_EVERY = 25
"""Of so many products, one lacks its material."""

_KINDS = ("台灯", "水壶", "办公椅", "书架", "餐盘", "背包", "雨伞", "挂钟", "收纳箱", "毛毯")
_MATERIALS = ("不锈钢", "橡木", "棉布", "陶瓷", "铝合金", "竹")
_COLOURS = ("白色", "黑色", "深蓝", "米色", "墨绿")
_SCHEMA = """CREATE TABLE products (
    sku TEXT PRIMARY KEY, name TEXT NOT NULL, material TEXT, size TEXT NOT NULL, colour TEXT NOT NULL
)"""

Row = tuple[str, str, str | None, str, str]


def product_rows() -> Iterator[Row]:
    """All products: number, name, material or None, size, colour."""
    for number in range(1, COUNT + 1):
        material = None if number % UNMEASURED_EVERY == 0 else _MATERIALS[number * 7 % len(_MATERIALS)]
        width, height = 10 + number % 40, 15 + number * 3 % 60
        colour = _COLOURS[number * 3 % len(_COLOURS)]
        kind = _KINDS[number % len(_KINDS)]
        yield f"P{number:04}", f"{colour}{kind} {number}", material, f"{width} x {height} cm", colour


def make_products(path: Path) -> None:
    """Make the file where it is not there; several processes may do this at once.

    Args:
        path: Where it goes; its folder must exist.
    """
    with closing(sqlite3.connect(path, timeout=10.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'products'").fetchone() is None:
                connection.execute(_SCHEMA)
                connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?)", product_rows())
