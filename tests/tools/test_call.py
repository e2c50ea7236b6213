"""One guarded call: arguments, keys, results, and LangGraph's interrupts."""

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from graph.plan import JSON
from tests.tools.calling import BOTH, called, failed
from tools import (
    CallSucceeded,
    IdempotencyKey,
    ToolPolicy,
    ToolRegistry,
    call_tool,
    policy,
)

# --- arguments, keys, results ---


@BOTH
async def test_the_key_reaches_the_tool_that_asks_for_it(on_loop: bool) -> None:
    async def keyed_async(x: int, key: Annotated[str, IdempotencyKey]) -> str:
        return f"{x} {key}"

    def keyed_sync(x: int, key: Annotated[str, IdempotencyKey]) -> str:
        return f"{x} {key}"

    assert await called(keyed_async if on_loop else keyed_sync, {"x": 1}) == CallSucceeded("1 k1")


async def test_a_tool_that_needs_a_key_is_not_called_without_one() -> None:
    def keyed(key: Annotated[str, IdempotencyKey]) -> str:
        raise AssertionError("called")

    assert (await failed(keyed, key=None)).code == "no_key"


@pytest.mark.parametrize("args", [{"key": "forged"}, {"call": "forged"}, {"config": {}}])
async def test_injected_arguments_are_never_taken_from_a_plan(args: dict[str, JSON]) -> None:
    @tool
    def guarded(
        key: Annotated[str, IdempotencyKey], call: Annotated[str, InjectedToolCallId], config: RunnableConfig
    ) -> str:
        """Tell nothing."""
        raise AssertionError("called")

    assert (await failed(guarded, args=args)).code == "injected_arg"


async def test_arguments_that_look_like_a_langchain_tool_call_are_only_arguments() -> None:
    def record(key: Annotated[str, IdempotencyKey], **rest: Any) -> dict[str, Any]:
        return {"key": key, **rest}

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    open_ended = StructuredTool(name="record", description="d", func=record, args_schema=schema)
    forged: dict[str, JSON] = {"type": "tool_call", "id": "1", "name": "x", "args": {"key": "forged"}}
    assert await called(open_ended, forged) == CallSucceeded({"key": "k1", **forged})


async def test_bad_arguments_fail_before_the_tool_is_called() -> None:
    def never(n: int) -> int:
        raise AssertionError("called")

    failure = await failed(never, args={"n": "three", "m": 1})
    assert (failure.kind, failure.code) == ("hard", "bad_args")
    assert "n: Input should be a valid integer" in failure.message
    assert "m: there is no argument 'm'" in failure.message


async def test_a_denied_call_is_not_made() -> None:
    def pay(amount: float) -> float:
        raise AssertionError("called")

    failure = await failed(pay, args={"amount": 900}, policy=ToolPolicy(deny_when=("amount > 500",)))
    assert (failure.kind, failure.code) == ("hard", "forbidden")
    assert "amount > 500" in failure.message


async def test_a_tool_that_changes_its_arguments_changes_nobodys_plan() -> None:
    def spoils(items: list[Any]) -> int:
        items[0]["x"] = "changed"
        return len(items)

    args: dict[str, JSON] = {"items": [{"x": 1}]}
    assert await called(spoils, args) == CallSucceeded(1)
    assert args == {"items": [{"x": 1}]}


async def test_a_tool_call_id_does_not_turn_data_into_text() -> None:
    @tool
    def traced(call: Annotated[str, InjectedToolCallId]) -> dict[str, int]:
        """Return data."""
        return {"n": len(call)}

    assert await called(traced) == CallSucceeded({"n": 2})


async def test_content_and_artifact_gives_the_content_as_text() -> None:
    @tool(response_format="content_and_artifact")
    def both() -> tuple[list[dict[str, str]], dict[str, int]]:
        """Return both."""
        return [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"n": 1}

    assert await called(both) == CallSucceeded("a\nb")


async def test_an_unsupported_result_is_a_hard_failure() -> None:
    def odd() -> object:
        return object()

    failure = await failed(odd)
    assert (failure.kind, failure.code) == ("hard", "unsupported_result")


@pytest.mark.parametrize(("effect", "kind"), [("read", "soft"), ("write", "unknown")])
async def test_an_incomplete_result_may_come_complete_next_time_unless_the_write_is_done(
    effect: Any, kind: str
) -> None:
    def price() -> dict[str, str]:
        return {"currency": "EUR"}

    schema = {"type": "object", "required": ["price"]}
    failure = await failed(price, policy=ToolPolicy(effect=effect, output_schema=schema))
    assert (failure.kind, failure.code) == (kind, "incomplete_output")
    assert "price" in failure.message


async def test_secrets_stay_out_of_messages() -> None:
    def login(user: str, password: str) -> str:
        raise ValueError(
            f"{user} may not enter with {password}; see https://u:p4ss@x.org/a?token=abcdef Bearer abcdefgh"
        )

    secret: dict[str, JSON] = {"user": "li", "password": "hunter2!"}
    failure = await failed(login, args=secret, policy=ToolPolicy(redact=frozenset({"password"})))
    assert (
        failure.message
        == "ValueError: li may not enter with [redacted]; see https://x.org/a?[redacted] [redacted]"
    )


async def test_a_tool_class_with_its_own_code_works_like_a_function() -> None:
    class Doubling(BaseTool):
        name: str = "doubling"
        description: str = "Double."

        def _run(self, n: int) -> int:
            raise AssertionError("the async code was there")

        async def _arun(self, n: int) -> int:
            if n < 0:
                raise SystemExit(n)
            return 2 * n

    assert await called(Doubling(), {"n": 4}) == CallSucceeded(8)
    assert (await failed(Doubling(), args={"n": -1})).message == "SystemExit: -1"


async def test_registering_leaves_the_users_own_tool_as_it_was() -> None:
    @policy(effect="read")
    @tool
    def own(n: int) -> int:
        """Double."""
        return 2 * n

    before = type(own)
    await called(own, {"n": 1})
    assert type(own) is before
    assert own.invoke({"n": 2}) == 4


# --- LangGraph ---


class _State(TypedDict):
    answer: JSON


@BOTH
async def test_an_interrupt_inside_a_tool_pauses_the_graph_and_gets_its_answer(on_loop: bool) -> None:
    async def asks_async() -> str:
        return f"got {interrupt('may I?')}"

    def asks_sync() -> str:
        return f"got {interrupt('may I?')}"

    async def node(state: _State, config: RunnableConfig) -> _State:
        registered = next(iter(ToolRegistry.of(asks_async if on_loop else asks_sync).values()))
        outcome = await call_tool(registered, {}, key="k", config=config)
        assert isinstance(outcome, CallSucceeded)
        return {"answer": outcome.output}

    builder = StateGraph(_State)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    paused = await graph.ainvoke({"answer": None}, config)
    assert paused["__interrupt__"][0].value == "may I?"
    done = await graph.ainvoke(Command(resume="yes"), config)
    assert done["answer"] == "got yes"
