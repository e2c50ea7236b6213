"""Calling a built-in tool as a run does: registered, its arguments checked, under guard."""

from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool

from tools import CallFailed, CallOutcome, CallSucceeded, ToolRegistry, call_tool


async def called(tools: list[BaseTool] | BaseTool, name: str, args: Mapping[str, Any]) -> CallOutcome:
    registry = ToolRegistry.of(*(tools if isinstance(tools, list) else [tools]))
    assert registry[name].args_problems(args) == []
    return await call_tool(registry[name], dict(args), key="k1")


async def output(tools: list[BaseTool] | BaseTool, name: str, args: Mapping[str, Any]) -> Any:
    outcome = await called(tools, name, args)
    assert isinstance(outcome, CallSucceeded), outcome
    return outcome.output


async def failure(tools: list[BaseTool] | BaseTool, name: str, args: Mapping[str, Any]) -> CallFailed:
    outcome = await called(tools, name, args)
    assert isinstance(outcome, CallFailed), outcome
    return outcome


async def refusal(tools: list[BaseTool] | BaseTool, name: str, args: Mapping[str, Any]) -> str:
    """The code of a failure that no retry can help."""
    outcome = await failure(tools, name, args)
    assert outcome.kind == "hard", outcome
    return outcome.code
