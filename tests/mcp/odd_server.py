"""A small MCP server without the SDK, that misbehaves as its first argument says."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
GOOD = {"name": "good", "description": "Work.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}}
BAD = [
    {"name": "no_schema"},
    {"name": "no_type", "inputSchema": {"type": "nonsense"}},
    {
        "name": "far_away",
        "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/x"}}},
    },
    {"name": "nowhere", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}},
    {"name": "bad_output", "inputSchema": TEXT, "outputSchema": {"type": "nonsense"}},
    "no tool at all",
]
CODES = {"refuses": -32602, "breaks": -32603, "quota": -32050}


def say(reply: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **reply}) + "\n")
    sys.stdout.flush()


def listed(mode: str, cursor: str | None) -> dict[str, Any]:
    if mode == "bad_tools":
        return {"tools": [*BAD, GOOD]}
    if mode == "pages":
        at = int(cursor or "0")
        page = {"tools": [{**GOOD, "name": f"good_{at}"}]}
        return page if at == 2 else {**page, "nextCursor": str(at + 1)}
    if mode == "endless_pages":
        return {"tools": [GOOD], "nextCursor": "again"}
    if mode == "branches":
        branches = [
            {"properties": {"text": {"type": "string"}}},
            {"properties": {"number": {"type": "integer"}}},
        ]
        return {"tools": [{**GOOD, "inputSchema": {"type": "object", "anyOf": branches}}]}
    return {"tools": [GOOD]}


def called(mode: str, params: dict[str, Any]) -> dict[str, Any]:
    if mode in CODES:
        return {"error": {"code": CODES[mode], "message": f"it {mode} with {os.environ.get('API_KEY', '')}"}}
    if mode == "no_result":
        return {"result": {"content": 7, "isError": False}}
    if mode == "strange_block":
        return {"result": {"content": [{"type": "hologram", "depth": 3}]}}
    if mode == "sound":
        return {"result": {"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}}
    if mode == "half":
        return {"result": {"content": [], "structuredContent": {"currency": "EUR"}}}
    return {"result": {"content": [{"type": "text", "text": str(params["arguments"].get("text"))}]}}


def answer(mode: str, asked: dict[str, Any]) -> None:
    method, params = asked.get("method"), asked.get("params") or {}
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "odd", "version": "1"}
        say(
            {
                "id": asked["id"],
                "result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info},
            }
        )
    elif method == "tools/list":
        say({"id": asked["id"], "result": listed(mode, params.get("cursor"))})
    elif method == "tools/call":
        say({"id": asked["id"], **called(mode, params)})


def main(mode: str) -> None:
    if "PIDS" in os.environ:
        with Path(os.environ["PIDS"]).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    if mode == "dies":
        sys.exit(f"cannot start: the key {os.environ.get('API_KEY')} is refused")
    if mode == "garbage":
        sys.stdout.write("Welcome to this server!\n" * 3)
        sys.stdout.flush()
    if mode in ("hangs", "garbage"):
        time.sleep(600)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        answer(mode, asked)
        if mode == "leaves" and asked.get("method") == "tools/list":
            return
    if mode == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
