"""The tools of MCP servers; needs the extra `mcp`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.errors import ToolLoadError

if TYPE_CHECKING:
    from tools.mcp.toolset import McpTools

__all__ = ["mcp_tools"]


def mcp_tools(source: str | Path | Mapping[str, Any]) -> "McpTools":
    """Return the tools of MCP servers, as a list that is also a context manager, sync and async.

        with mcp_tools("servers.json") as tools:
            graph = build_graph(tools=tools)

    The servers are reached when the list is first looked at or entered. Its tools can be called from any
    thread and event loop.

    Args:
        source: A JSON file `{"mcpServers": {NAME: {"command": ..., "args": [...], "env": {...}}}}`, or with
            `url` and `headers`, or the same as data. docs/tools.md has all fields.

    Raises:
        ToolLoadError: The configuration or a server cannot be used, or the extra is not installed; one line.
    """
    try:
        from tools.mcp.toolset import McpTools  # noqa: PLC0415 - only those who use it need the extra
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] in {"mcp", "langchain_mcp_adapters"}:
            raise ToolLoadError(
                "MCP servers need langchain-mcp-adapters, which is not installed: install planrail with its "
                "extra mcp"
            ) from error
        raise
    return McpTools(source)
