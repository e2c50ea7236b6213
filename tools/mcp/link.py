"""The way to one MCP server: a session opened when it is needed, and anew when it was lost."""

import asyncio
from typing import Any, NoReturn

import anyio
import httpx
import mcp.types as mcp
from mcp import McpError
from pydantic import BaseModel, Field

from graph.plan import JSON
from tools.errors import HardToolError, SoftToolError
from tools.mcp import home
from tools.mcp.config import ServerConfig
from tools.mcp.connection import Connection, ConnectionLost
from tools.mcp.masking import masked, secrets_of
from tools.mcp.results import Answer, McpToolError

_NOT_CONNECTED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_NOT_SENT = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_SESSION_FORGOTTEN = 32600
"""The SDK's own code, not the protocol's, which has a minus."""

_REQUEST_TIMEOUT = -32001
_OPEN = frozenset({mcp.INTERNAL_ERROR, mcp.CONNECTION_CLOSED, _REQUEST_TIMEOUT})
"""Errors after which nobody knows whether the call happened."""

_REFUSED = frozenset({mcp.INVALID_REQUEST, mcp.METHOD_NOT_FOUND, mcp.INVALID_PARAMS, mcp.PARSE_ERROR})
"""Errors that tell that the call was not begun."""

_MAX_PAGES = 200


class _SessionGone(Exception):  # noqa: N818 - a state that a new session mends
    """The request was not taken: nothing has happened."""


class _Page(BaseModel):
    """A page of a server's list of tools; one bad entry must not cost the others."""

    tools: list[Any] = Field(default_factory=list)
    nextCursor: str | None = None  # noqa: N815 - the protocol's name


class Link:
    """The way to one MCP server, on the home loop, where its methods are called.

    Calls share one session, as servers may keep state in it.
    """

    def __init__(self, server: ServerConfig) -> None:
        """Make a link that is not connected yet."""
        self.server = server
        self.secrets = secrets_of(server)
        self._opening, self._closing = asyncio.Lock(), asyncio.Lock()
        self._connection: Connection | None = None
        self._closed = False

    async def list_tools(self) -> list[Any]:
        """All tools of the server, as it describes them.

        Raises:
            SoftToolError: The server cannot be reached, did not answer in time, or its answer is none.
        """
        limit = self.server.start_timeout
        try:
            connection = await self._connected()
            async with asyncio.timeout(limit):
                return await _all_tools(connection)
        except TimeoutError:
            raise SoftToolError(self._said(f"did not list its tools within {limit:g} s")) from None
        except (McpError, ValueError, ConnectionLost, *_NOT_SENT) as error:
            reason = "; ".join(masked(str(error), self.secrets).splitlines()[:3])
            raise SoftToolError(self._said(f"cannot list its tools: {reason}")) from error

    async def call(self, tool: str, arguments: dict[str, JSON]) -> Answer:
        """The server's answer to one call.

        Where the session was lost before the request left, or the server has forgotten it, the call is made
        in a new one.

        Raises:
            HardToolError: The server refused the request.
            McpToolError: It answered with another error.
            SoftToolError: The server cannot be reached; the request never left.
            ConnectionLost, httpx.HTTPError: The request was sent, and what became of it is not known.
        """
        try:
            return await self._call_once(tool, arguments)
        except _SessionGone:
            pass
        try:
            return await self._call_once(tool, arguments)
        except _SessionGone as error:
            raise SoftToolError(self._said("ends each session at once")) from error

    async def close(self) -> None:
        """Leave the server for good; one that was started is ended."""
        self._closed = True
        async with self._closing:
            if self._connection is not None:
                await self._connection.close()
            home.closed(self.close)

    async def _call_once(self, tool: str, arguments: dict[str, JSON]) -> Answer:
        connection = await self._connected()
        try:
            return await connection.call(tool, arguments)
        except _NOT_SENT as error:
            await self._drop(connection)
            raise _SessionGone from error
        except McpError as error:
            if error.error.code == _SESSION_FORGOTTEN:
                await self._drop(connection)
                raise _SessionGone from error
            self._fail(connection, error)

    def _fail(self, connection: Connection, error: McpError) -> NoReturn:
        fault = connection.fault(error)
        if isinstance(fault, _NOT_CONNECTED):
            raise SoftToolError(self._said(f"cannot be reached: {type(fault).__name__}")) from fault
        if fault is not None:
            raise fault
        message = masked(error.error.message, self.secrets)
        if error.error.code in _OPEN:
            raise ConnectionLost(self._said(f"did not bring the call to its end: {message}")) from error
        if error.error.code in _REFUSED:
            raise HardToolError("mcp_error", self._said(f"refused the call: {message}")) from error
        raise McpToolError(message) from error

    def _said(self, words: str) -> str:
        return f"the MCP server {self.server.name!r} {words}"

    async def _connected(self) -> Connection:
        async with self._opening:
            if self._closed:
                raise HardToolError("mcp_closed", self._said("has been closed: open its tools anew"))
            if self._connection is not None and not self._connection.ended:
                return self._connection
            home.close_at_exit(self.close)
            self._connection = Connection(self.server)
            try:
                await self._connection.open()
            except SoftToolError as error:
                raise SoftToolError(self._said(str(error))) from error
            return self._connection

    async def _drop(self, connection: Connection) -> None:
        await connection.close()
        if self._connection is connection:
            self._connection = None


async def _all_tools(connection: Connection) -> list[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        params = mcp.PaginatedRequestParams(cursor=cursor)
        page: _Page = await connection.request(mcp.ListToolsRequest(params=params), _Page)
        tools += page.tools
        cursor = page.nextCursor
        if not cursor:
            return tools
    raise ValueError(f"they fill more than {_MAX_PAGES} pages")
