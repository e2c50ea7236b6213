"""Rows of a database as JSON data."""

import datetime as dt
import json
import math
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON
from tools import HardToolError
from tools.builtin.sql_results import QueryLimits, distinct, json_value, tabulate


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (None, None),
        (True, True),
        (b"\x00\xff", {"$bytes": "AP8="}),
        (memoryview(b"\x00\xff"), {"$bytes": "AP8="}),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "NaN"),
        (Decimal("259.00"), 259),
        (Decimal("0.10"), 0.1),
        (Decimal("1e3"), 1000),
        (Decimal("123456789012345678.5"), "123456789012345678.5"),
        (dt.date(2026, 3, 2), "2026-03-02"),
        (dt.datetime(2026, 3, 2, 8, 30, tzinfo=dt.UTC), "2026-03-02T08:30:00+00:00"),
        (dt.timedelta(minutes=2), 120.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (["中文", Decimal("1.5"), math.inf], ["中文", 1.5, "Infinity"]),
        ({"a": math.nan}, {"a": "NaN"}),
        (2**70, str(2**70)),
    ],
)
def test_every_kind_of_cell_has_a_form_in_json(cell: object, shown: JSON) -> None:
    assert json_value(cell) == shown
    assert type(json_value(cell)) is type(shown)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_no_decimal_loses_a_digit_that_counts(cell: Decimal) -> None:
    shown = json_value(cell)
    assert isinstance(shown, (int, float, str))
    assert Decimal(str(shown)) == cell


@given(st.lists(st.sampled_from(["a", "b", "a_2", "a_3", "a_2_2", ""])))
def test_columns_with_one_name_are_told_apart(names: list[str]) -> None:
    found = distinct(names)
    assert len(set(found)) == len(found) == len(names)
    assert all(new == old or new.startswith(f"{old}_") for new, old in zip(found, names, strict=True))
    assert [new for new, old in zip(found, names, strict=True) if names.count(old) == 1] == [
        old for old in names if names.count(old) == 1
    ]


def test_rows_beyond_the_cap_are_left_out_and_told_and_hardly_read() -> None:
    read: list[int] = []

    def endless() -> Iterator[tuple[int]]:
        while True:
            read.append(1)
            yield (len(read),)

    found = tabulate(["n"], endless(), QueryLimits(max_rows=3))
    assert found == {"columns": ["n"], "rows": [{"n": 1}, {"n": 2}, {"n": 3}], "truncated": True}
    assert len(read) == 4
    assert tabulate(["n"], [(1,)], QueryLimits(max_rows=1))["truncated"] is False


def test_a_result_that_grows_too_long_is_cut_between_rows() -> None:
    rows: Any = [("x" * 40,)] * 10
    found = tabulate(["t"], rows, QueryLimits(max_chars=150))
    assert (len(found["rows"]), found["truncated"]) == (3, True)  # type: ignore[arg-type]
    assert len(json.dumps(found["rows"])) < 200


def test_one_row_that_is_too_long_is_refused_with_the_remedy() -> None:
    with pytest.raises(HardToolError, match="select fewer or shorter columns") as caught:
        tabulate(["t"], [("x" * 200,)], QueryLimits(max_chars=150))
    assert caught.value.code == "result_too_large"
