"""A tool of an MCP server as a LangChain tool."""

from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import ConfigDict

from graph.plan import JSON
from tools.mcp.home import at_home, at_home_sync
from tools.mcp.link import Link
from tools.mcp.masking import masked_value
from tools.mcp.results import result_of


class Server:
    """What the tools of one server hold on to: the server is left when none of them is there any more."""

    def __init__(self, link: Link) -> None:
        """Hold a link."""
        self.link = link


class McpTool(BaseTool):
    """A tool of an MCP server, for any event loop and for callers without one.

    Attributes:
        server: Where the tool is.
        remote_name: What the server calls it.
        unwrap: Whether its structured results are objects only for the protocol's sake.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    server: Server
    remote_name: str
    unwrap: bool = False

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Hand all arguments over as one, for a server may give them names that Python or LangChain use."""
        _, arguments = super()._to_args_and_kwargs(tool_input, tool_call_id)
        return (arguments,), {}

    def _run(self, arguments: dict[str, JSON]) -> JSON:
        return at_home_sync(self._call(arguments))

    async def _arun(self, arguments: dict[str, JSON]) -> JSON:
        return await at_home(self._call(arguments))

    async def _call(self, arguments: Mapping[str, JSON]) -> JSON:
        link = self.server.link
        answer = await link.call(self.remote_name, dict(arguments))
        result = result_of(
            answer.model_copy(update={"content": masked_value(answer.content, link.secrets)}),
            unwrap=self.unwrap,
            json_text=link.server.json_text,
        )
        return masked_value(result, link.secrets)
