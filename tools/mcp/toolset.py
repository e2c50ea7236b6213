"""The tools of all MCP servers of a configuration, checked one by one."""

import asyncio
import logging
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

import mcp.types as mcp
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from tools.errors import SoftToolError, ToolLoadError, ToolSetupError
from tools.mcp import home
from tools.mcp.config import ServerConfig, read_servers
from tools.mcp.link import Link
from tools.mcp.policies import policy_fields, unused_names
from tools.mcp.results import is_wrapped
from tools.mcp.tool import McpTool, Server
from tools.mcp.transport import require_command
from tools.policy import policy
from tools.registration import register
from tools.scrub import trimmed

_LOG = logging.getLogger("planrail.mcp")
_MAX_DESCRIPTION = 4_000


class McpTools(Sequence[BaseTool]):
    """The tools of MCP servers: a list, whose servers are reached when it is first looked at or entered.

    The servers are left, and those that were started are ended, at the end of a `with` or `async with`, by
    `close`, when nothing holds the tools any more, or with the process.
    """

    def __init__(self, source: str | Path | Mapping[str, Any]) -> None:
        """Read the configuration; `mcp_tools` says which forms it has."""
        self._configs = read_servers(source)
        self._servers: list[Server] = []
        self._tools: list[BaseTool] | None = None

    def close(self) -> None:
        """Leave the servers; their tools cannot be called any more."""
        home.at_home_sync(self._leave())

    async def aclose(self) -> None:
        """The same, from an event loop."""
        await home.at_home(self._leave())

    def __enter__(self) -> Self:
        """Reach the servers."""
        self._loaded()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the servers."""
        self.close()

    async def __aenter__(self) -> Self:
        """Reach the servers."""
        if self._tools is None:
            self._tools = await home.at_home(self._load())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the servers."""
        await self.aclose()

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._loaded())

    def __iter__(self) -> Iterator[BaseTool]:
        """Go through the tools."""
        return iter(self._loaded())

    @overload
    def __getitem__(self, index: int) -> BaseTool: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTool]: ...
    def __getitem__(self, index: int | slice) -> BaseTool | list[BaseTool]:
        """Return one tool, or some."""
        return self._loaded()[index]

    def _loaded(self) -> list[BaseTool]:
        if self._tools is None:
            self._tools = home.at_home_sync(self._load())
        return self._tools

    async def _load(self) -> list[BaseTool]:
        links = [Link(config) for config in self._configs]
        try:
            found = await asyncio.gather(*map(self._tools_of, links), return_exceptions=True)
            _raise_faults([each for each in found if isinstance(each, BaseException)])
            tools = [tool for each in found if not isinstance(each, BaseException) for tool in each]
            _refuse_collisions(tools)
        except BaseException:
            await asyncio.gather(*(link.close() for link in links))
            raise
        return tools

    async def _tools_of(self, link: Link) -> list[BaseTool]:
        await asyncio.to_thread(require_command, link.server)
        listed = await link.list_tools()
        server = Server(link)
        weakref.finalize(server, _leave_soon, link, os.getpid()).atexit = False
        self._servers.append(server)
        return _offered(listed, server)

    async def _leave(self) -> None:
        servers, self._servers = self._servers, []
        await asyncio.gather(*(server.link.close() for server in servers))


def _raise_faults(faults: Sequence[BaseException]) -> None:
    """Raise what kept servers from being reached, all that can be told in one line."""
    told = [str(fault) for fault in faults if isinstance(fault, SoftToolError | ToolLoadError)]
    strange = [fault for fault in faults if not isinstance(fault, SoftToolError | ToolLoadError)]
    if strange:
        raise strange[0]
    if told:
        raise ToolLoadError(trimmed("; ".join(told)))


def _leave_soon(link: Link, process: int) -> None:
    if process == os.getpid():  # a forked child has the tools, and the servers are its parent's
        home.submit(link.close())


def _offered(listed: Sequence[Any], server: Server) -> list[BaseTool]:
    """Return the tools that are to be offered; one that cannot be used is named in the log."""
    config = server.link.server
    described = [_described(entry, config) for entry in listed]
    known = [tool for tool in described if tool is not None]
    unused = unused_names(config, [tool.name for tool in known])
    if unused:
        there = ", ".join(tool.name for tool in known) or "none"
        raise ToolLoadError(
            trimmed(f"MCP server {config.name!r} has no tool {unused[0]!r} to configure; it has: {there}")
        )
    return [
        made for tool in known if _is_wanted(tool.name, config) if (made := _made(tool, server)) is not None
    ]


def _is_wanted(name: str, config: ServerConfig) -> bool:
    included = config.include_tools is None or name in config.include_tools
    return included and name not in config.exclude_tools


def _described(entry: Any, config: ServerConfig) -> mcp.Tool | None:
    try:
        return mcp.Tool.model_validate(entry)
    except ValidationError as error:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        places = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False))
        _refused(name, config, f"its description is not the protocol's ({places})")
        return None


def _made(tool: mcp.Tool, server: Server) -> BaseTool | None:
    config = server.link.server
    made = McpTool(
        name=f"{config.tool_prefix}{tool.name}",
        description=(tool.description or tool.title or tool.name)[:_MAX_DESCRIPTION],
        args_schema=tool.inputSchema,
        server=server,
        remote_name=tool.name,
        unwrap=is_wrapped(tool.outputSchema),
    )
    fields = policy_fields(tool, config)
    try:
        policy(**fields)(made)
        register(made, {})
    except ToolSetupError as error:
        if _is_configured(tool.name, config):
            raise ToolLoadError(
                trimmed(f"MCP server {config.name!r}, tool {tool.name!r}: {error}")
            ) from error
        _refused(tool.name, config, str(error))
        return None
    return made


def _is_configured(name: str, config: ServerConfig) -> bool:
    """Tell whether the user's own words on a tool may be what is wrong with it."""
    return bool(config.policies.get(name) or config.policies.get("*"))


def _refused(name: object, config: ServerConfig, reason: str) -> None:
    _LOG.warning("tool %r of MCP server %r cannot be used: %s", name, config.name, trimmed(reason))


def _refuse_collisions(tools: Sequence[BaseTool]) -> None:
    owners: dict[str, str] = {}
    for tool in tools:
        assert isinstance(tool, McpTool)
        owner = tool.server.link.server.name
        other = owners.setdefault(tool.name, owner)
        if other != owner:
            raise ToolLoadError(
                f"MCP servers {other!r} and {owner!r} both have a tool {tool.name!r}: "
                f'give one of them a "prefix", or leave the tool out with "exclude_tools"'
            )
