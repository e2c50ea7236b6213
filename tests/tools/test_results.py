"""Tool results as data that every store can hold."""

import dataclasses
import datetime as dt
import json
import math
import uuid
from collections import OrderedDict, defaultdict, deque
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel, SecretStr

from graph.plan import json_fault
from tools import UnsupportedResult, to_json


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    ONE = 1


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Order:
    number: str
    lines: tuple[Point, ...]


class Customer(BaseModel):
    name: str
    since: dt.date
    password: SecretStr


class Blob(BaseModel):
    data: bytes


BERLIN = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2, 3)), [1, [2, 3]]),
        (deque([1, 2]), [1, 2]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a", 1}), ["a", "b", 1]),
        ({"k": 1}.keys(), ["k"]),
        (Color.RED, "red"),
        (Level.ONE, 1),
        (Word.YES, "yes"),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Order("A1", (Point(1, 2),)), {"number": "A1", "lines": [{"x": 1, "y": 2}]}),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, 4, tzinfo=BERLIN), "2026-01-02T03:04:00+01:00"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(minutes=1.5), 90.0),
        (Decimal("19.90"), "19.90"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"\xff\x00", {"$bytes": "/wA="}),
        (bytearray(b"a"), {"$bytes": "YQ=="}),
        (2**64 - 1, 2**64 - 1),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "-9223372036854775809"),
        (
            Customer(name="Li", since=dt.date(2026, 1, 2), password=SecretStr("pw")),
            {"name": "Li", "since": "2026-01-02", "password": "**********"},
        ),
        (Blob(data=b"\xff"), {"data": {"$bytes": "/w=="}}),
        (AIMessage("hello"), "hello"),
        (ToolMessage([{"type": "text", "text": "a"}, "b"], tool_call_id="1"), "a\nb"),
        (ToolMessage([{"type": "image", "url": "u"}], tool_call_id="1"), [{"type": "image", "url": "u"}]),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, {"a": 1}), {"a": 1}),
        ({2: "a", None: "b", True: "c", Color.RED: "d"}, {"2": "a", "null": "b", "true": "c", "red": "d"}),
        ("\ud800 \x00", "\ufffd \ufffd"),
        ({"\udfff": 1}, {"\ufffd": 1}),
    ],
)
def test_what_json_lacks_gets_its_documented_form(value: object, expected: object) -> None:
    assert to_json(value) == expected


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (math.nan, "result is nan"),
        ({"a": [1, math.inf]}, r"result\.a\[1\] is inf"),
        (Decimal("NaN"), "nan"),
        ({"a": object()}, r"result\.a is a object"),
        (iter([1]), "list_iterator"),
        (len, "builtin"),
        (Command(goto="elsewhere"), "Command"),
        ({(1, 2): 1}, "tuple as a key"),
        ({1: "a", "1": "b"}, "two keys"),
    ],
)
def test_what_has_no_json_form_is_refused_by_place_and_type(value: object, named: str) -> None:
    with pytest.raises(UnsupportedResult, match=named):
        to_json(value)


def test_a_number_too_long_to_write_down_is_refused() -> None:
    with pytest.raises(UnsupportedResult, match="ValueError"):
        to_json([10**5000])


def test_cycles_and_bottomless_nesting_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append({"again": cycle})
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    for value in (cycle, deep):
        with pytest.raises(UnsupportedResult, match="cyclic or nested deeper"):
            to_json(value)


def test_a_coroutine_nobody_awaited_is_refused_without_a_warning() -> None:
    async def forgotten() -> None: ...

    with pytest.raises(UnsupportedResult, match="async def"):
        to_json(forgotten())


class _Hostile(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no")


def test_a_result_that_raises_when_read_is_refused() -> None:
    with pytest.raises(UnsupportedResult, match="RuntimeError"):
        to_json(_Hostile(a=1))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | st.binary()
    | st.dates()
    | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4) | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(value=plain)
def test_whatever_comes_out_is_storable_and_stays_as_it_is(value: object) -> None:
    result = to_json(value)
    assert json_fault(result) is None
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert orjson.loads(orjson.dumps(result)) == result
    assert to_json(result) == result


@given(value=st.recursive(st.integers(-5, 5) | st.text("ab"), st.lists, max_leaves=10))
def test_the_result_shares_nothing_with_what_the_tool_returned(value: object) -> None:
    result = to_json(value)
    assert result == value
    assert result is not value or not isinstance(value, list)


class _Array:
    """Looks like a numpy array."""

    __module__ = "numpy"

    def tolist(self) -> list[Any]:
        return [1, [2.5]]


class _Frame:
    """Looks like a pandas frame."""

    __module__ = "pandas.core.frame"
    columns = ("a", "b")

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [{"a": 1, "b": math.nan}, {"a": 2, "b": dt.date(2026, 1, 2)}]


def test_arrays_and_frames_are_recognised_without_their_libraries() -> None:
    assert to_json(_Array()) == [1, [2.5]]
    assert to_json({"table": _Frame()}) == {"table": [{"a": 1, "b": None}, {"a": 2, "b": "2026-01-02"}]}
