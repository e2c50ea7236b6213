"""Calling a tool once, as the tests of the guarded call do."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from graph.plan import JSON
from tools import CallFailed, CallOutcome, RegisteredTool, ToolPolicy, ToolRegistry, call_tool
from tools.registration import AnyTool

READ = ToolPolicy(effect="read")


async def called(
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


async def failed(item: AnyTool, **options: Any) -> CallFailed:
    outcome = await called(item, **options)
    assert isinstance(outcome, CallFailed)
    return outcome


def raising(error: BaseException, *, on_loop: bool) -> AnyTool:
    async def broken_async() -> None:
        raise error

    def broken_sync() -> None:
        raise error

    return broken_async if on_loop else broken_sync


BOTH = pytest.mark.parametrize("on_loop", [True, False])


def registered_alone(item: AnyTool, **fields: Any) -> RegisteredTool:
    name = str(getattr(item, "name", None) or getattr(item, "__name__", ""))
    return ToolRegistry.of(item, policies={name: ToolPolicy(**fields)})[name]


class Count:
    """How often a tool was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, result: Any = None) -> Any:
        self.calls += 1
        return result


def lambda_named(function: Callable[[], Any]) -> Callable[[], Any]:
    function.__name__ = "named"
    return function
