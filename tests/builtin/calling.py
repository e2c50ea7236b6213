"""Calling a built-in tool as a run does: registered, its arguments checked, under guard."""

from typing import Any

from langchain_core.tools import BaseTool

from graph.plan import JSON
from tools import CallFailed, CallOutcome, CallSucceeded, ToolRegistry, call_tool


async def called(tools: list[BaseTool] | BaseTool, name: str, args: dict[str, JSON]) -> CallOutcome:
    registry = ToolRegistry.of(*(tools if isinstance(tools, list) else [tools]))
    assert registry[name].args_problems(args) == []
    return await call_tool(registry[name], args, key="k1")


async def output(tools: list[BaseTool] | BaseTool, name: str, args: dict[str, JSON]) -> Any:
    outcome = await called(tools, name, args)
    assert isinstance(outcome, CallSucceeded), outcome
    return outcome.output


async def failure(tools: list[BaseTool] | BaseTool, name: str, args: dict[str, JSON]) -> CallFailed:
    outcome = await called(tools, name, args)
    assert isinstance(outcome, CallFailed), outcome
    return outcome


async def refusal(tools: list[BaseTool] | BaseTool, name: str, args: dict[str, JSON]) -> str:
    """The code of a failure that no retry can help."""
    outcome = await failure(tools, name, args)
    assert outcome.kind == "hard", outcome
    return outcome.code
