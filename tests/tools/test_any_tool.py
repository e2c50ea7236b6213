"""LangChain tools of every kind: one right outcome, after one call."""

import collections
import dataclasses
import datetime as dt
import fractions
import ipaddress
import sqlite3
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import attrs
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun, CallbackManagerForToolRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    create_retriever_tool,
    tool,
)
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel

import tools.drained
from graph.plan import JSON
from tests.tools.calling import called, failed, registered_alone
from tools import CallFailed, CallSucceeded, ToolPolicy, ToolSetupError, UnsupportedResult, to_json
from tools.registration import AnyTool


class Count:
    """How often a tool was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, result: Any = None) -> Any:
        self.calls += 1
        return result


@pytest.fixture
def count() -> Count:
    return Count()


# --- what comes bit by bit ---


def _generators(count: Count) -> dict[str, AnyTool]:
    def items() -> Iterator[int]:
        count()
        yield from (1, 2)

    async def items_async() -> AsyncIterator[int]:
        count()
        for number in (1, 2):
            yield number

    class Items(BaseTool):
        name: str = "items"
        description: str = "d"

        def _run(self) -> Iterator[int]:
            yield from items()

    class ItemsAsync(Items):
        async def _arun(self) -> AsyncIterator[int]:  # type: ignore[override]
            async for number in items_async():
                yield number

    async def returns_async() -> AsyncIterator[int]:
        return items_async()

    return {
        "function": items,
        "@tool": tool(items, description="d"),
        "class": Items(),
        "async function": items_async,
        "async @tool": StructuredTool.from_function(items_async, name="items_async", description="d"),
        "async class": ItemsAsync(),
        "returned": lambda_named(lambda: count(number for number in (1, 2))),
        "returned by async": returns_async,
        "map": lambda_named(lambda: map(int, count(["1", "2"]))),
    }


def lambda_named(function: Callable[[], Any]) -> Callable[[], Any]:
    function.__name__ = "named"
    return function


@pytest.mark.parametrize("kind", list(_generators(Count())))
async def test_a_generator_is_the_list_of_its_items(count: Count, kind: str) -> None:
    assert await called(_generators(count)[kind]) == CallSucceeded([1, 2])
    assert count.calls == 1


async def test_a_generator_that_fails_on_its_way_is_a_failed_tool(count: Count) -> None:
    def breaks() -> Iterator[int]:
        yield count(1)
        raise ConnectionError("gone")

    read, write = await failed(breaks), await failed(breaks, policy=ToolPolicy())
    assert (read.kind, write.kind) == ("soft", "unknown")
    assert count.calls == 2


@pytest.mark.parametrize("on_loop", [True, False])
async def test_a_generator_without_end_is_refused_and_not_taken_any_further(
    count: Count, on_loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools.drained, "MAX_ITEMS", 1000)

    def endless() -> Iterator[int]:
        while True:
            yield count(1)

    async def endless_async() -> AsyncIterator[int]:
        while True:
            yield count(1)

    failure = await failed(endless_async if on_loop else endless)
    assert (failure.kind, failure.code) == ("hard", "unsupported_result")
    assert "more than" in failure.message
    assert count.calls == 1001


async def test_a_slow_generator_runs_out_of_time_and_is_taken_no_further(count: Count) -> None:
    import threading

    gone_on, waiting = threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        try:
            yield 1
            waiting.wait(30)
            while True:
                yield count(2)
        finally:
            gone_on.set()

    failure = await failed(slow, timeout=0.2)
    assert (failure.kind, failure.code) == ("soft", "timeout")
    waiting.set()
    assert gone_on.wait(30)
    assert count.calls == 1


# --- how arguments arrive ---


async def test_further_arguments_reach_a_function_that_takes_any(count: Count) -> None:
    def note(a: int, **rest: Any) -> list[Any]:
        return count([a, rest])  # type: ignore[no-any-return]

    for item in (note, tool(note, description="d")):
        assert await called(item, {"a": 1, "b": [2]}) == CallSucceeded([1, {"b": [2]}])
        assert await called(item, {"a": 1}) == CallSucceeded([1, {}])
        assert (await failed(item, args={"b": 2})).code == "bad_args"
        assert registered_alone(item).args_schema["additionalProperties"] is True
    assert count.calls == 4


async def test_a_function_that_takes_any_keeps_its_injected_arguments_to_itself() -> None:
    def note(user: Annotated[str, InjectedToolArg] = "nobody", **rest: Any) -> list[Any]:
        return [user, rest]

    assert await called(note, {"a": 1}) == CallSucceeded(["nobody", {"a": 1}])
    assert (await failed(note, args={"user": "forged"})).code == "injected_arg"


async def test_unnamed_arguments_are_never_given() -> None:
    def add(a: int, *more: int) -> list[int]:
        return [a, *more]

    assert await called(add, {"a": 1}) == CallSucceeded([1])
    assert (await failed(add, args={"a": 1, "more": [2]})).code == "bad_args"


def test_an_argument_that_has_no_name_for_plans_is_refused_at_once() -> None:
    def add(a: int, /, b: int) -> int:
        return a + b

    with pytest.raises(ToolSetupError, match="'a' of 'add' can only be given by position"):
        registered_alone(add)


async def test_a_tool_of_one_unnamed_input_has_the_name_that_models_know(count: Count) -> None:
    single = Tool(name="single", func=lambda text: count(f"got {text}"), description="d")
    assert list(registered_alone(single).args_schema["properties"]) == ["__arg1"]
    assert await called(single, {"__arg1": "x"}) == CallSucceeded("got x")
    assert (await failed(single)).code == "bad_args"
    assert single.args_schema is None
    assert count.calls == 1


async def test_a_class_with_async_code_alone_has_the_arguments_of_that(count: Count) -> None:
    class AsyncOnly(BaseTool):
        name: str = "async_only"
        description: str = "d"

        def _run(self, *_args: Any, **_kwargs: Any) -> Any:
            raise NotImplementedError("use the async one")

        async def _arun(self, query: str, limit: int = 5) -> Any:
            return count([query, limit])

    assert await called(AsyncOnly(), {"query": "q"}) == CallSucceeded(["q", 5])
    problems = registered_alone(AsyncOnly()).args_problems({"qery": "q"})
    assert [name for name, _ in problems] == ["qery", "query"]
    assert count.calls == 1


async def test_a_class_as_communities_write_them_works(count: Count) -> None:
    class Query(BaseModel):
        query: str

    class Search(BaseTool):
        name: str = "search"
        description: str = "d"
        args_schema: Any = Query

        def _run(self, query: str, run_manager: CallbackManagerForToolRun | None = None) -> str:
            return count(f"{query} {run_manager is not None}")  # type: ignore[no-any-return]

    assert await called(Search(), {"query": "q"}) == CallSucceeded("q True")
    assert (await failed(Search(), args={"query": "q", "run_manager": 1})).code == "injected_arg"


class _Retriever(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(f"about {query}", metadata={"page": 1})]


async def test_retrievers_and_runnables_are_tools() -> None:
    for form in ("content", "content_and_artifact"):
        made = create_retriever_tool(_Retriever(), "docs", "d", response_format=form)
        assert await called(made, {"query": "q"}) == CallSucceeded("about q")
    runnable = RunnableLambda(lambda given: given["a"] + 1)
    with pytest.warns(match="beta"):
        added = runnable.as_tool(name="added", description="d", arg_types={"a": int})
    assert await called(added, {"a": 1}) == CallSucceeded(2)


WANTS: dict[str, Any] = {
    "state": Annotated[dict[str, Any], InjectedState],
    "store": Annotated[Any, InjectedStore()],
    "runtime": ToolRuntime,
    "user": Annotated[str, InjectedToolArg],
}


@pytest.mark.parametrize("name", list(WANTS))
async def test_what_only_an_agents_loop_could_give_is_named_unless_it_has_a_default(
    count: Count, name: str
) -> None:
    source = f"def wants(q: str, {name}: kind) -> str:\n    return count(q)\n"
    source += f"def spares(q: str, {name}: kind = None) -> str:\n    return count(q)\n"
    scope: dict[str, Any] = {"kind": WANTS[name], "count": count}
    exec(source, scope)
    failure = await failed(tool(scope["wants"], description="d"), args={"q": "x"}, policy=ToolPolicy())
    assert (failure.kind, failure.code, failure.nothing_happened) == ("hard", "not_injected", True)
    assert f"wants {name} from an agent's loop" in failure.message
    assert count.calls == 0
    assert await called(tool(scope["spares"], description="d"), {"q": "x"}) == CallSucceeded("x")


# --- what comes back ---


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


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/x", "#/$defs/X", "other.json#/x"])
def test_a_schema_that_leads_elsewhere_is_refused_and_nothing_is_fetched(reference: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
    made = StructuredTool(name="made", description="d", func=lambda a: a, args_schema=schema)
    with pytest.raises(ToolSetupError, match="which is not in it"):
        registered_alone(made)
    plain = StructuredTool.from_function(lambda: 1, name="plain", description="d")
    with pytest.raises(ToolSetupError, match="output_schema that cannot be used"):
        registered_alone(plain, output_schema={"$ref": reference})


async def test_a_schema_that_refers_to_itself_and_has_branches_is_used() -> None:
    schema = {
        "type": "object",
        "oneOf": [
            {"$ref": "#/$defs/ById"},
            {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        ],
        "$defs": {"ById": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    }
    made = StructuredTool(name="made", description="d", func=lambda **given: given, args_schema=schema)
    assert await called(made, {"id": 1}) == CallSucceeded({"id": 1})
    assert await called(made, {"name": "a"}) == CallSucceeded({"name": "a"})
    for wrong in ({}, {"id": "x"}, {"nmae": "a"}):
        outcome = await called(made, wrong)  # type: ignore[arg-type]
        assert isinstance(outcome, CallFailed)
        assert outcome.code == "bad_args"
