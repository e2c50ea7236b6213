"""A user's own MCP server over stdio: `desk_server.py CALLS`, each call a line of the file CALLS."""

import sys
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations
from pydantic import BaseModel

CALLS = Path(sys.argv[1])
server = FastMCP("desk", log_level="ERROR")


class Weather(BaseModel):
    city: str
    degrees: float


def note(what: str) -> None:
    with CALLS.open("a", encoding="utf-8") as log:
        log.write(f"{what}\n")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def weather(city: str) -> Weather:
    """Tell the weather of a city."""
    note(f"weather {city}")
    if city == "nowhere":
        raise ValueError("there is no such city")
    return Weather(city=city, degrees=21.5)


@server.tool(annotations=ToolAnnotations(destructiveHint=False, idempotentHint=True))
def remember(text: str) -> str:
    """Remember a text."""
    note(f"remember {text}")
    return f"remembered {text}"


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def forget(text: str) -> str:
    """Forget a text for good."""
    note(f"forget {text}")
    return f"forgot {text}"


@server.tool()
def unsaid(text: str) -> str:
    """Do what nobody says anything about."""
    note(f"unsaid {text}")
    return text


if __name__ == "__main__":
    server.run("stdio")
