"""An MCP server to test with: `office_server.py [stdio | http PORT]`.

It appends the name of each call to the file of the variable CALLS, and its process id when it starts to PIDS.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.utilities.types import Image
from mcp.types import ToolAnnotations
from pydantic import BaseModel

READS = ToolAnnotations(readOnlyHint=True)
ADDS = ToolAnnotations(destructiveHint=False)
REPEATS = ToolAnnotations(destructiveHint=False, idempotentHint=True)
DESTROYS = ToolAnnotations(destructiveHint=True)

server = FastMCP("office", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0, log_level="ERROR")
state: dict[str, int] = {"calls": 0}


def note(what: str, variable: str = "CALLS") -> None:
    place = os.environ.get(variable)
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")


class Order(BaseModel):
    number: str
    amount: float


@server.tool(annotations=READS)
def find_order(number: str) -> Order:
    """Find an order."""
    note("find_order")
    return Order(number=number, amount=19.9)


@server.tool(annotations=READS)
def shout(text: str) -> str:
    """Say it louder."""
    note("shout")
    return text.upper()


@server.tool(annotations=READS)
def count() -> int:
    """Count the calls of this session's process."""
    state["calls"] += 1
    return state["calls"]


@server.tool(annotations=READS, structured_output=False)
def raw(text: str) -> str:
    """Give text back as it is."""
    return text


@server.tool(annotations=READS, structured_output=False)
def picture() -> list[Any]:
    """Show a picture."""
    return ["a picture", Image(data=b"\x89PNG", format="png")]


@server.tool(annotations=READS, structured_output=False)
def nothing() -> list[Any]:
    """Give nothing."""
    return []


@server.tool(annotations=READS)
def tell_environment(name: str) -> str:
    """Tell a variable of the environment."""
    return os.environ.get(name, "not set")


@server.tool(annotations=READS)
def odd_names(config: str, run_manager: str, self: str = "", arguments: str = "", type: str = "") -> str:  # noqa: A002
    """Take arguments whose names mean something elsewhere."""
    return f"{config} {run_manager} {arguments} {type}"


@server.tool(annotations=REPEATS)
def save(text: str) -> str:
    """Save a text."""
    note("save")
    return f"saved {text}"


@server.tool(annotations=ADDS)
def append(text: str) -> str:
    """Append a text."""
    note("append")
    return f"appended {text}"


@server.tool(annotations=DESTROYS)
def wipe(folder: str) -> str:
    """Empty a folder."""
    note("wipe")
    return f"wiped {folder}"


@server.tool()
def mystery(x: int) -> int:
    """Do something of which nothing is said."""
    note("mystery")
    return x


@server.tool(annotations=READS)
def fail(reason: str) -> str:
    """Fail with a reason."""
    note("fail")
    raise ValueError(reason)


@server.tool(annotations=READS)
async def nap(seconds: float) -> str:
    """Sleep."""
    note("nap begins")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("nap cancelled")
        raise
    return "rested"


@server.tool(annotations=READS)
def die_reading() -> str:
    """End the server during a lookup."""
    note("die_reading")
    os._exit(3)


@server.tool(annotations=ADDS)
def die_writing() -> str:
    """End the server during a write."""
    note("die_writing")
    os._exit(3)


if __name__ == "__main__":
    note(str(os.getpid()), "PIDS")
    time.sleep(float(os.environ.get("START_DELAY", "0")))
    server.run("streamable-http" if len(sys.argv) > 1 and sys.argv[1] == "http" else "stdio")
