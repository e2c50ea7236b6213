"""Opens sessions with MCP servers: programs that are started, and endpoints that are called."""

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

import httpx
from langchain_mcp_adapters.sessions import Connection, create_session
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.stdio import get_default_environment

from tools.errors import ToolLoadError
from tools.mcp.config import ServerConfig
from tools.mcp.http_faults import Faults, FaultTolerantClient

_WARDEN = Path(__file__).with_name("warden.py")
_SDK_LOGGERS = ("mcp.client", "mcp.shared", "mcp.os")


@asynccontextmanager
async def open_session(server: ServerConfig, errors: TextIO, faults: Faults) -> AsyncIterator[ClientSession]:
    """Reach a server and shake hands; at the end it is left, and one that was started is ended.

    Args:
        server: The server.
        errors: An open file that receives what a started server writes to its stderr.
        faults: Receives the faults of HTTP requests.

    Yields:
        The session.
    """
    _quieten()
    if server.transport == "stdio":
        program = await asyncio.to_thread(_program, server)  # it searches folders
        async with (
            stdio_client(program, errors) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session
    else:
        async with create_session(_endpoint(server, faults)) as session:
            await session.initialize()
            yield session


def require_command(server: ServerConfig) -> None:
    """Raise ToolLoadError when the program of a server is not there; an endpoint always passes."""
    if server.transport != "stdio":
        return
    if server.cwd is not None and not Path(server.cwd).is_dir():
        raise ToolLoadError(f"MCP server {server.name!r}: there is no folder {server.cwd} for it to start in")
    if _found(server) is None:
        raise ToolLoadError(
            f"MCP server {server.name!r}: there is no program {server.command!r}; install it or give its path"
        )


def _found(server: ServerConfig) -> str | None:
    """The program's path: a name is searched as the server's own PATH says, a path starts at its folder."""
    command = Path(server.command).expanduser()
    if command.name != server.command and not command.is_absolute():
        command = Path(server.cwd or ".").resolve() / command
    path = {**get_default_environment(), **server.env}.get("PATH")
    return shutil.which(str(command) if command.name != server.command else server.command, path=path)


def _program(server: ServerConfig) -> StdioServerParameters:
    command, args = _found(server) or server.command, list(server.args)
    if os.name == "posix" and sys.executable:  # elsewhere the SDK sees to it that no server is left behind
        command, args = sys.executable, ["-I", "-S", str(_WARDEN), str(os.getpid()), command, *args]
    return StdioServerParameters(command=command, args=args, env=server.env, cwd=server.cwd)


def _endpoint(server: ServerConfig, faults: Faults) -> Connection:
    if server.transport == "sse":
        return {"transport": "sse", "url": server.url, "headers": dict(server.headers)}

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx.Timeout | None = None,
        auth: httpx.Auth | None = None,
    ) -> httpx.AsyncClient:
        return FaultTolerantClient(faults, headers=headers, timeout=timeout, auth=auth)

    return {
        "transport": "streamable_http",
        "url": server.url,
        "headers": dict(server.headers),
        "httpx_client_factory": client,
    }


def _quieten() -> None:
    """Keep the SDK from logging tracebacks and URLs, which may hold keys, unless somebody listens to it."""
    for name in _SDK_LOGGERS:
        logger = logging.getLogger(name)
        if logger.propagate and not logger.handlers and logger.level == logging.NOTSET:
            logger.addHandler(logging.NullHandler())
            logger.propagate = False
