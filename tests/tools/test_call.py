"""One guarded call: known cases D01 and D03, keys, results, and LangGraph's interrupts."""

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from graph.plan import JSON
from tools import (
    CallFailed,
    CallOutcome,
    CallSucceeded,
    HardToolError,
    IdempotencyKey,
    OutcomeUnknown,
    SoftToolError,
    ToolPolicy,
    ToolRegistry,
    call_tool,
    policy,
)
from tools.registration import AnyTool

READ = ToolPolicy(effect="read")


async def _call(
    item: AnyTool,
    args: dict[str, JSON] | None = None,
    *,
    policy: ToolPolicy = READ,
    timeout: float | None = None,
    key: str | None = "k1",
) -> CallOutcome:
    name = item.name if isinstance(item, BaseTool) else item.__name__
    registered = ToolRegistry.of(item, policies={name: policy})[name]
    return await call_tool(registered, args or {}, key=key, timeout=timeout)


async def _failure(item: AnyTool, **options: Any) -> CallFailed:
    outcome = await _call(item, **options)
    assert isinstance(outcome, CallFailed)
    return outcome


def _raising(error: BaseException, *, on_loop: bool) -> AnyTool:
    async def broken_async() -> None:
        raise error

    def broken_sync() -> None:
        raise error

    return broken_async if on_loop else broken_sync


BOTH = pytest.mark.parametrize("on_loop", [True, False])


# --- D01: how tools fail ---


@BOTH
@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ToolException("mcp said no"), "tool_error", "ToolException: mcp said no"),
        (ValueError("bad amount"), "unexpected_error", "ValueError: bad amount"),
        (KeyError("x"), "unexpected_error", "KeyError: 'x'"),
        (SystemExit(3), "unexpected_error", "SystemExit: 3"),
        (KeyboardInterrupt(), "unexpected_error", "KeyboardInterrupt"),
        (RuntimeError(""), "unexpected_error", "RuntimeError"),
        (HardToolError("order_not_found", "no order A1"), "order_not_found", "no order A1"),
    ],
)
async def test_an_exception_of_a_tool_is_a_hard_failure_with_its_type_and_text(
    error: BaseException, code: str, message: str, on_loop: bool
) -> None:
    assert await _failure(_raising(error, on_loop=on_loop)) == CallFailed("hard", code, message)


@BOTH
async def test_two_megabytes_of_message_are_trimmed(on_loop: bool) -> None:
    failure = await _failure(_raising(ValueError("x" * 2_000_000), on_loop=on_loop))
    assert failure.message.startswith("ValueError: xxx")
    assert len(failure.message) == 500


@BOTH
async def test_a_soft_error_of_a_write_stays_soft(on_loop: bool) -> None:
    error = SoftToolError("busy", retry_after=4.0)
    failure = await _failure(_raising(error, on_loop=on_loop), policy=ToolPolicy())
    assert failure == CallFailed("soft", "soft_tool_error", "busy", 4.0)


@BOTH
async def test_a_lost_connection_of_a_write_is_unknown(on_loop: bool) -> None:
    broken = _raising(ConnectionResetError("reset"), on_loop=on_loop)
    assert (await _failure(broken, policy=ToolPolicy())).kind == "unknown"
    assert (await _failure(broken, policy=ToolPolicy(idempotent=True))).kind == "soft"


@BOTH
async def test_an_outcome_the_tool_calls_unknown_is_unknown(on_loop: bool) -> None:
    failure = await _failure(_raising(OutcomeUnknown("sent"), on_loop=on_loop), policy=ToolPolicy())
    assert failure == CallFailed("unknown", "outcome_unknown", "sent")


@BOTH
@pytest.mark.parametrize("handler", [True, "it did not work", lambda error: f"handled {error}"])
async def test_a_handled_tool_error_is_still_an_error(handler: Any, on_loop: bool) -> None:
    made = _raising(ToolException("mcp said no"), on_loop=on_loop)
    build: dict[str, Any] = {"coroutine": made} if on_loop else {"func": made}
    handled = StructuredTool.from_function(**build, name="t", description="d", handle_tool_error=handler)
    failure = await _failure(handled)
    assert failure.kind == "hard"
    assert failure.code == "tool_error"
    assert failure.message in {"mcp said no", "it did not work", "handled mcp said no"}


async def test_a_handled_validation_error_is_still_an_error() -> None:
    class Even(BaseModel):
        n: int

    def even(n: int) -> int:
        return n

    made = StructuredTool.from_function(even, args_schema=Even, description="d", handle_validation_error=True)
    assert (await _failure(made, args={"n": "x"})).code == "bad_args"


async def test_a_tool_message_with_error_status_is_an_error() -> None:
    def told() -> ToolMessage:
        return ToolMessage("quota used up", tool_call_id="1", status="error")

    assert await _failure(told) == CallFailed("hard", "tool_error", "quota used up")


async def test_a_failing_tool_leaves_its_siblings_alone() -> None:
    async def fine() -> str:
        await asyncio.sleep(0.02)
        return "fine"

    broken = _raising(SystemExit(1), on_loop=True)
    first, second = await asyncio.gather(_call(broken), _call(fine))
    assert isinstance(first, CallFailed)
    assert second == CallSucceeded("fine")


# --- D03: hanging and blocking tools ---


async def test_an_async_tool_that_hangs_times_out_on_time() -> None:
    cancelled = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    began = time.monotonic()
    failure = await _failure(hangs, timeout=0.2)
    assert (failure.kind, failure.code) == ("soft", "timeout")
    assert time.monotonic() - began < 0.6
    assert cancelled.is_set()


async def test_a_sync_tool_that_hangs_times_out_on_time() -> None:
    let_go = threading.Event()

    def hangs() -> None:
        let_go.wait(60)

    began = time.monotonic()
    failure = await _failure(hangs, timeout=0.2)
    let_go.set()
    assert (failure.kind, failure.code) == ("soft", "timeout")
    assert time.monotonic() - began < 0.6


async def test_an_async_tool_that_blocks_the_loop_is_timed_out_when_control_returns() -> None:
    async def blocks() -> str:
        time.sleep(0.4)  # noqa: ASYNC251 - the fault under test
        return "late"

    assert (await _failure(blocks, timeout=0.2)).code == "timeout"


async def test_a_tool_whose_turn_came_late_because_another_blocked_the_loop_is_not_late() -> None:
    async def blocks() -> str:
        time.sleep(0.5)  # noqa: ASYNC251 - the fault under test
        return "late"

    async def quick() -> str:
        await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)
        return "in time"

    slow, fine = await asyncio.gather(_call(blocks, timeout=0.3), _call(quick, timeout=0.3))
    assert isinstance(slow, CallFailed)
    assert fine == CallSucceeded("in time")


async def test_a_sync_tool_that_ended_in_time_while_the_loop_was_blocked_is_not_late() -> None:
    async def blocks() -> None:
        time.sleep(0.5)  # noqa: ASYNC251 - the fault under test

    def quick() -> str:
        time.sleep(0.05)
        return "in time"

    fine, _ = await asyncio.gather(_call(quick, timeout=0.3), _call(blocks, timeout=5))
    assert fine == CallSucceeded("in time")


async def test_a_tool_that_swallows_its_cancellation_times_out_all_the_same() -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
        return "late"

    failure = await _failure(stubborn, timeout=0.1)
    assert failure.code == "timeout"


async def test_the_late_result_of_an_attempt_does_not_reach_the_next() -> None:
    calls: list[int] = []

    def slow_once() -> int:
        calls.append(len(calls))
        mine = calls[-1]
        if mine == 0:
            time.sleep(0.3)
        return mine

    assert (await _failure(slow_once, timeout=0.1)).code == "timeout"
    second = await _call(slow_once, timeout=2)
    await asyncio.sleep(0.4)
    assert second == CallSucceeded(1)


@pytest.mark.parametrize(
    ("repeatable", "kind"), [(ToolPolicy(idempotent=True), "soft"), (ToolPolicy(), "unknown")]
)
async def test_a_timeout_of_a_write_is_unknown_unless_it_is_idempotent(
    repeatable: ToolPolicy, kind: str
) -> None:
    async def hangs() -> None:
        await asyncio.sleep(3600)

    assert (await _failure(hangs, timeout=0.05, policy=repeatable)).kind == kind


async def test_the_policys_timeout_holds_when_the_step_gives_none() -> None:
    async def hangs() -> None:
        await asyncio.sleep(3600)

    failure = await _failure(hangs, policy=ToolPolicy(effect="read", timeout=0.05))
    assert failure.message == "hangs gave no answer within 0.05 s"


async def test_hung_threads_do_not_use_up_a_pool() -> None:
    let_go = threading.Event()

    def hangs() -> None:
        let_go.wait(60)

    def quick() -> str:
        return "done"

    hung = await asyncio.gather(*(_call(hangs, timeout=0.1) for _ in range(60)))
    fine = await _call(quick, timeout=2)
    let_go.set()
    assert all(isinstance(outcome, CallFailed) for outcome in hung)
    assert fine == CallSucceeded("done")


EXIT_SCRIPT = """
import asyncio, sys, time
from tools import ToolRegistry, call_tool

def sleeps():
    time.sleep(3600)

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def main():
    registry = ToolRegistry.of(sleeps, stubborn)
    outcomes = await asyncio.gather(*(call_tool(t, {}, key=None, timeout=0.2) for t in registry.values()))
    print([outcome.code for outcome in outcomes], flush=True)

asyncio.run(main())
"""


def test_a_process_with_hung_tools_exits_at_once_and_quietly() -> None:
    root = Path(__file__).parents[2]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", EXIT_SCRIPT], cwd=root, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "['timeout', 'timeout']"
    assert done.stderr == ""
    assert time.monotonic() - began < 30


async def test_the_callers_own_cancellation_propagates_and_cancels_the_tool() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hangs() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    task = asyncio.create_task(_call(hangs))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_tool_that_cancels_itself_fails_and_cancels_nobody_else() -> None:
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    assert (await _failure(cancels_itself)).code == "cancelled"


async def test_sync_tools_see_the_callers_context_variables() -> None:
    tenant: ContextVar[str] = ContextVar("tenant")

    def who() -> str:
        return tenant.get()

    tenant.set("acme")
    assert await _call(who) == CallSucceeded("acme")


# --- arguments, keys, results ---


@BOTH
async def test_the_key_reaches_the_tool_that_asks_for_it(on_loop: bool) -> None:
    async def keyed_async(x: int, key: Annotated[str, IdempotencyKey]) -> str:
        return f"{x} {key}"

    def keyed_sync(x: int, key: Annotated[str, IdempotencyKey]) -> str:
        return f"{x} {key}"

    assert await _call(keyed_async if on_loop else keyed_sync, {"x": 1}) == CallSucceeded("1 k1")


async def test_a_tool_that_needs_a_key_is_not_called_without_one() -> None:
    def keyed(key: Annotated[str, IdempotencyKey]) -> str:
        raise AssertionError("called")

    assert (await _failure(keyed, key=None)).code == "no_key"


@pytest.mark.parametrize("args", [{"key": "forged"}, {"call": "forged"}, {"config": {}}])
async def test_injected_arguments_are_never_taken_from_a_plan(args: dict[str, JSON]) -> None:
    @tool
    def guarded(
        key: Annotated[str, IdempotencyKey], call: Annotated[str, InjectedToolCallId], config: RunnableConfig
    ) -> str:
        """Tell nothing."""
        raise AssertionError("called")

    assert (await _failure(guarded, args=args)).code == "injected_arg"


async def test_arguments_that_look_like_a_langchain_tool_call_are_only_arguments() -> None:
    def record(key: Annotated[str, IdempotencyKey], **rest: Any) -> dict[str, Any]:
        return {"key": key, **rest}

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    open_ended = StructuredTool(name="record", description="d", func=record, args_schema=schema)
    forged: dict[str, JSON] = {"type": "tool_call", "id": "1", "name": "x", "args": {"key": "forged"}}
    assert await _call(open_ended, forged) == CallSucceeded({"key": "k1", **forged})


async def test_bad_arguments_fail_before_the_tool_is_called() -> None:
    def never(n: int) -> int:
        raise AssertionError("called")

    failure = await _failure(never, args={"n": "three", "m": 1})
    assert (failure.kind, failure.code) == ("hard", "bad_args")
    assert "n: Input should be a valid integer" in failure.message
    assert "m: there is no argument 'm'" in failure.message


async def test_a_denied_call_is_not_made() -> None:
    def pay(amount: float) -> float:
        raise AssertionError("called")

    failure = await _failure(pay, args={"amount": 900}, policy=ToolPolicy(deny_when=("amount > 500",)))
    assert (failure.kind, failure.code) == ("hard", "forbidden")
    assert "amount > 500" in failure.message


async def test_a_tool_that_changes_its_arguments_changes_nobodys_plan() -> None:
    def spoils(items: list[Any]) -> int:
        items[0]["x"] = "changed"
        return len(items)

    args: dict[str, JSON] = {"items": [{"x": 1}]}
    assert await _call(spoils, args) == CallSucceeded(1)
    assert args == {"items": [{"x": 1}]}


async def test_a_tool_call_id_does_not_turn_data_into_text() -> None:
    @tool
    def traced(call: Annotated[str, InjectedToolCallId]) -> dict[str, int]:
        """Return data."""
        return {"n": len(call)}

    assert await _call(traced) == CallSucceeded({"n": 2})


async def test_content_and_artifact_gives_the_content_as_text() -> None:
    @tool(response_format="content_and_artifact")
    def both() -> tuple[list[dict[str, str]], dict[str, int]]:
        """Return both."""
        return [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"n": 1}

    assert await _call(both) == CallSucceeded("a\nb")


async def test_an_unsupported_result_is_a_hard_failure() -> None:
    def odd() -> object:
        return object()

    failure = await _failure(odd)
    assert (failure.kind, failure.code) == ("hard", "unsupported_result")


@pytest.mark.parametrize(("effect", "kind"), [("read", "soft"), ("write", "unknown")])
async def test_an_incomplete_result_may_come_complete_next_time_unless_the_write_is_done(
    effect: Any, kind: str
) -> None:
    def price() -> dict[str, str]:
        return {"currency": "EUR"}

    schema = {"type": "object", "required": ["price"]}
    failure = await _failure(price, policy=ToolPolicy(effect=effect, output_schema=schema))
    assert (failure.kind, failure.code) == (kind, "incomplete_output")
    assert "price" in failure.message


async def test_secrets_stay_out_of_messages() -> None:
    def login(user: str, password: str) -> str:
        raise ValueError(
            f"{user} may not enter with {password}; see https://u:p4ss@x.org/a?token=abcdef Bearer abcdefgh"
        )

    secret: dict[str, JSON] = {"user": "li", "password": "hunter2!"}
    failure = await _failure(login, args=secret, policy=ToolPolicy(redact=frozenset({"password"})))
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

    assert await _call(Doubling(), {"n": 4}) == CallSucceeded(8)
    assert (await _failure(Doubling(), args={"n": -1})).message == "SystemExit: -1"


async def test_registering_leaves_the_users_own_tool_as_it_was() -> None:
    @policy(effect="read")
    @tool
    def own(n: int) -> int:
        """Double."""
        return 2 * n

    before = type(own)
    await _call(own, {"n": 1})
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
