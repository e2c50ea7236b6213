"""How tools fail."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel

from tests.tools.calling import BOTH, called, failed, raising
from tools import (
    CallFailed,
    CallSucceeded,
    HardToolError,
    OutcomeUnknown,
    SoftToolError,
    ToolPolicy,
)


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
    assert await failed(raising(error, on_loop=on_loop)) == CallFailed("hard", code, message)


@BOTH
async def test_two_megabytes_of_message_are_trimmed(on_loop: bool) -> None:
    failure = await failed(raising(ValueError("x" * 2_000_000), on_loop=on_loop))
    assert failure.message.startswith("ValueError: xxx")
    assert len(failure.message) == 500


@BOTH
async def test_a_soft_error_of_a_write_stays_soft(on_loop: bool) -> None:
    error = SoftToolError("busy", retry_after=4.0)
    failure = await failed(raising(error, on_loop=on_loop), policy=ToolPolicy())
    assert failure == CallFailed("soft", "soft_tool_error", "busy", 4.0)


@BOTH
async def test_a_lost_connection_of_a_write_is_unknown(on_loop: bool) -> None:
    broken = raising(ConnectionResetError("reset"), on_loop=on_loop)
    assert (await failed(broken, policy=ToolPolicy())).kind == "unknown"
    assert (await failed(broken, policy=ToolPolicy(idempotent=True))).kind == "soft"


@BOTH
async def test_an_outcome_the_tool_calls_unknown_is_unknown(on_loop: bool) -> None:
    failure = await failed(raising(OutcomeUnknown("sent"), on_loop=on_loop), policy=ToolPolicy())
    assert failure == CallFailed("unknown", "outcome_unknown", "sent")


@BOTH
@pytest.mark.parametrize("handler", [True, "it did not work", lambda error: f"handled {error}"])
async def test_a_handled_tool_error_is_still_an_error(handler: Any, on_loop: bool) -> None:
    made = raising(ToolException("mcp said no"), on_loop=on_loop)
    build: dict[str, Any] = {"coroutine": made} if on_loop else {"func": made}
    handled = StructuredTool.from_function(**build, name="t", description="d", handle_tool_error=handler)
    failure = await failed(handled)
    assert failure.kind == "hard"
    assert failure.code == "tool_error"
    assert failure.message in {"mcp said no", "it did not work", "handled mcp said no"}


async def test_a_handled_validation_error_is_still_an_error() -> None:
    class Even(BaseModel):
        n: int

    def even(n: int) -> int:
        return n

    made = StructuredTool.from_function(even, args_schema=Even, description="d", handle_validation_error=True)
    assert (await failed(made, args={"n": "x"})).code == "bad_args"


async def test_a_tool_message_with_error_status_is_an_error() -> None:
    def told() -> ToolMessage:
        return ToolMessage("quota used up", tool_call_id="1", status="error")

    assert await failed(told) == CallFailed("hard", "tool_error", "quota used up")


async def test_a_failing_tool_leaves_its_siblings_alone() -> None:
    async def fine() -> str:
        await asyncio.sleep(0.02)
        return "fine"

    broken = raising(SystemExit(1), on_loop=True)
    first, second = await asyncio.gather(called(broken), called(fine))
    assert isinstance(first, CallFailed)
    assert second == CallSucceeded("fine")
