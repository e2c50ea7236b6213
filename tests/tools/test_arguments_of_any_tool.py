"""How arguments arrive at LangChain tools of every kind, and which schemas can be used."""

from typing import Annotated, Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun, CallbackManagerForToolRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, create_retriever_tool, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel

from tests.tools.calling import Count, called, failed, registered_alone
from tools import CallFailed, CallSucceeded, ToolPolicy, ToolSetupError


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
