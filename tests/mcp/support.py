"""Servers, configurations and processes for the tests of MCP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graph.plan import JSON
from tools import CallOutcome, RegisteredTool, ToolRegistry, call_tool

HERE = Path(__file__).parent
OFFICE = str(HERE / "office_server.py")
ODD = str(HERE / "odd_server.py")
PATIENCE = 60.0
START = 90.0


def office(**more: Any) -> dict[str, Any]:
    """The entry of the well-behaved server, over stdio."""
    return {"command": sys.executable, "args": [OFFICE], "start_timeout": START, **more}


def odd(mode: str, **more: Any) -> dict[str, Any]:
    """The entry of a server that misbehaves."""
    return {"command": sys.executable, "args": [ODD, mode], "start_timeout": START, **more}


def only(tools: Any) -> RegisteredTool:
    """The one tool of a list, registered."""
    (found,) = ToolRegistry.of(*tools).values()
    return found


async def call(tool: RegisteredTool, timeout: float | None = None, **args: JSON) -> CallOutcome:
    return await call_tool(tool, args, key="k1", timeout=timeout)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"


def wait_until(holds: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


def pids_in(place: Path) -> list[int]:
    return [int(line) for line in place.read_text("utf-8").split()] if place.exists() else []


def wait_until_ended(place: Path) -> None:
    """Wait until every server that wrote its id into the file has ended."""
    pids = pids_in(place)
    assert pids
    wait_until(lambda: not any(map(is_alive, pids)), f"servers are left: {pids}")


@contextmanager
def office_over_http(environment: Mapping[str, str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The well-behaved server over HTTP: its URL and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, OFFICE, "http", str(port)]
    with subprocess.Popen(command, env={**os.environ, **environment}) as process:
        try:
            wait_until(lambda: _listens(port) or process.poll() is not None, "the server does not listen")
            yield f"http://127.0.0.1:{port}/mcp", process
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
