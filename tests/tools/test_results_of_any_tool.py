"""What comes back from LangChain tools of every kind: one right outcome, after one call."""

import collections
import dataclasses
import datetime as dt
import fractions
import ipaddress
import sqlite3
import types
from typing import Annotated, Any

import attrs
import pytest
from langchain_core.documents import Document
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.types import Command

from graph.plan import JSON
from tests.tools.calling import Count, called, failed, lambda_named
from tools import CallSucceeded, ToolPolicy, UnsupportedResult, to_json


@pytest.mark.parametrize(("effect", "kind"), [("read", "hard"), ("write", "unknown")])
@pytest.mark.parametrize(
    ("result", "words"),
    [
        (Command(update={"x": 1}), "Command for an agent"),
        (ValueError("boom"), "ValueError, which has no JSON form; raise it"),
        (1 + 2j, "complex"),
        (dict, "type"),
    ],
)
async def test_what_has_no_form_is_told_after_one_call(
    count: Count, effect: Any, kind: str, result: Any, words: str
) -> None:
    failure = await failed(lambda_named(lambda: count(result)), policy=ToolPolicy(effect=effect))
    assert (failure.kind, failure.code) == (kind, "unsupported_result")
    assert words in failure.message
    assert count.calls == 1


@pytest.mark.parametrize("on_loop", [True, False])
async def test_a_tool_that_came_back_has_done_its_work_whatever_langchain_thinks_of_the_form(
    count: Count, on_loop: bool
) -> None:
    def pays() -> str:
        return count("paid")  # type: ignore[no-any-return]

    async def pays_async() -> str:
        return pays()

    made = StructuredTool.from_function(
        None if on_loop else pays,
        coroutine=pays_async if on_loop else None,
        name="pays",
        description="d",
        response_format="content_and_artifact",
    )
    assert await called(made, policy=ToolPolicy()) == CallSucceeded("paid")
    assert count.calls == 1


async def test_a_tool_whose_result_goes_straight_to_the_user_is_an_ordinary_step() -> None:
    @tool(return_direct=True)
    def direct(call: Annotated[str, InjectedToolCallId]) -> dict[str, int]:
        """Answer."""
        return {"n": len(call)}

    assert await called(direct) == CallSucceeded({"n": 2})


@pytest.mark.parametrize(
    ("content", "artifact", "expected"),
    [
        ("text", {"rows": [1]}, "text"),
        ('{"a": 1}', {"structured_content": {"a": 1}}, {"a": 1}),
        ("hello", {"structured_content": {"result": "hello"}}, "hello"),
        ('{"result": 1}', {"structured_content": {"result": 1}}, {"result": 1}),
        ("text", {"structured_content": None}, "text"),
        ("text", {"structured_content": {"a": 1}, "more": 2}, "text"),
        ([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}], None, None),
    ],
)
async def test_an_artifact_is_the_result_only_where_it_is_the_content_as_data(
    content: Any, artifact: Any, expected: JSON
) -> None:
    @tool(response_format="content_and_artifact")
    def both() -> tuple[Any, Any]:
        """Return both."""
        return content, artifact

    assert await called(both) == CallSucceeded(content if expected is None else expected)


async def test_thirty_million_characters_arrive_whole(count: Count) -> None:
    outcome = await called(lambda_named(lambda: count("x" * 30_000_000)))
    assert isinstance(outcome, CallSucceeded)
    assert isinstance(outcome.output, str)
    assert (len(outcome.output), count.calls) == (30_000_000, 1)


@attrs.define
class _Attrs:
    a: int
    inner: Any = None


@dataclasses.dataclass(slots=True)
class _Slots:
    a: int


def _row() -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    row = connection.execute("SELECT 1 AS a, 'x' AS 名").fetchone()
    connection.close()
    return row  # type: ignore[no-any-return]


class _RowOfSomeDatabase(collections.UserList[int]):
    def _asdict(self) -> dict[str, int]:
        return {"a": self[0]}


class _Version1:
    __module__ = "pydantic.v1.main"

    def dict(self) -> Any:
        return {"a": dt.date(2026, 1, 2)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (range(3), [0, 1, 2]),
        (collections.UserList([1]), [1]),
        (collections.UserString("a"), "a"),
        (fractions.Fraction(1, 3), "1/3"),
        (ipaddress.ip_address("::1"), "::1"),
        (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
        (types.SimpleNamespace(a=types.SimpleNamespace(b=1)), {"a": {"b": 1}}),
        (_Attrs(1, _Attrs(2)), {"a": 1, "inner": {"a": 2, "inner": None}}),
        ([_Slots(1)], [{"a": 1}]),
        (_row(), {"a": 1, "名": "x"}),
        (_RowOfSomeDatabase([1]), {"a": 1}),
        (_Version1(), {"a": "2026-01-02"}),
        ([Document("a", metadata={"n": 1})], None),
    ],
)
def test_objects_of_libraries_have_a_form(value: object, expected: object) -> None:
    if expected is None:
        expected = [{"id": None, "metadata": {"n": 1}, "page_content": "a", "type": "Document"}]
    assert to_json(value) == expected


class _Dtype:
    kind = "M"


class _Dates:
    """Looks like a numpy array of dates."""

    __module__ = "numpy"
    dtype = _Dtype()

    def tolist(self) -> list[Any]:
        return [1767225600000000000, None]

    def astype(self, kind: type) -> Any:
        assert kind is str
        return types.SimpleNamespace(tolist=lambda: ["2026-01-01T00:00:00.000000000", "NaT"])


class _Twice:
    """Looks like a pandas frame with one column name for two."""

    __module__ = "pandas.core.frame"
    columns = ("a", "a")

    def to_dict(self, orient: str) -> Any:
        raise AssertionError(orient)


def _like(module: str, **methods: Any) -> object:
    return type(
        "Frame", (), {"__module__": module, **{name: lambda _, to=to: to for name, to in methods.items()}}
    )()


def test_tables_and_arrays_keep_what_they_hold() -> None:
    assert to_json(_Dates()) == ["2026-01-01T00:00:00.000000000", None]
    assert to_json(_like("polars.frame", to_dicts=[{"a": 1}])) == [{"a": 1}]
    assert to_json(_like("pyarrow.lib", to_pylist=[{"a": 1}])) == [{"a": 1}]
    with pytest.raises(UnsupportedResult, match="two columns of one name"):
        to_json(_Twice())
