"""Servers that are called over HTTP: faults of a request, of the connection, and of the server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.support import call, office_over_http, only, wait_until
from tools import CallFailed, CallSucceeded, ToolLoadError, ToolRegistry
from tools.mcp import mcp_tools

SECRET = "sesame-open"
TOOL = {
    "name": "good",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


class _Endpoint(BaseHTTPRequestHandler):
    """Speaks MCP; what a call comes to is scripted by its text, and every start by `server.starts`."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *_args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(405)

    def do_DELETE(self) -> None:
        self._send(200)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append((asked["method"], dict(self.headers)))
        number, method, params = asked.get("id"), asked["method"], asked.get("params", {})
        if method == "initialize":
            if self.server.start_status != 200:
                return self._send(self.server.start_status)
            info = {"name": "e", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {}, "serverInfo": info}
            return self._reply(number, result, {"mcp-session-id": f"session-{len(self.server.seen)}"})
        if method == "tools/list":
            return self._reply(number, {"tools": [TOOL]})
        if method == "tools/call":
            return self._call(number, params["arguments"]["text"])
        return self._send(202)

    def _call(self, number: int, text: str) -> None:
        if text.isdigit():
            self._send(int(text), headers={"Retry-After": "7"})
        elif text == "forgotten" and self.server.forgets:
            self.server.forgets -= 1
            self._send(404)
        elif text == "html":
            self._send(200, b"<html>", {"content-type": "text/html"})
        elif text == "no json":
            self._send(200, b"{", {"content-type": "application/json"})
        elif text == "hang up":
            self.close_connection = True
        elif text == "cut":
            self._headers(200, {"content-type": "text/event-stream", "connection": "close"})
            self.wfile.write(b"event: message\ndata: {")
            self.close_connection = True
        elif text == "events":
            reply = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "ok"}]}}
            self._headers(200, {"content-type": "text/event-stream", "connection": "close"})
            self.wfile.write(b"event: message\ndata: " + json.dumps(reply).encode() + b"\n\n")
            self.close_connection = True
        else:
            self._reply(number, {"content": [{"type": "text", "text": text}]})

    def _reply(self, number: int, result: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        self._send(200, body, {"content-type": "application/json", **(headers or {})})

    def _send(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self._headers(status, {"content-length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _headers(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Endpoint)
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.start_status = 200
        self.forgets = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def calls(self) -> int:
        return sum(method == "tools/call" for method, _ in self.seen)


@pytest.fixture
def endpoint() -> Iterator[_Server]:
    with _serving() as server:
        yield server


@contextmanager
def _serving() -> Iterator[_Server]:
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("text", "read", "write", "code"),
    [
        ("400", "hard", "hard", "http_400"),
        ("401", "hard", "hard", "http_401"),
        ("429", "soft", "soft", "http_429"),
        ("503", "soft", "unknown", "http_503"),
        ("html", "soft", "unknown", "connection_error"),
        ("no json", "soft", "unknown", "connection_error"),
        ("hang up", "soft", "unknown", "connection_error"),
        ("cut", "soft", "unknown", "connection_error"),
    ],
)
async def test_a_fault_of_one_request_means_what_it_tells_of_the_call_and_is_made_once(
    endpoint: _Server, text: str, read: str, write: str, code: str
) -> None:
    for effect, kind in (("read", read), ("write", write)):
        entry = {"url": f"{endpoint.url}?api_key={SECRET}", "policies": {"good": {"effect": effect}}}
        before = endpoint.calls()
        async with mcp_tools({"web": entry}) as tools:
            tool = only(tools)
            outcome = await call(tool, text=text)
            assert isinstance(outcome, CallFailed)
            assert (outcome.kind, outcome.code) == (kind, code)
            assert outcome.retry_after == (7 if text == "429" else outcome.retry_after)
            assert SECRET not in outcome.message
            assert endpoint.calls() == before + 1
            assert await call(tool, text="fine") == CallSucceeded("fine")


async def test_the_faults_of_one_call_leave_the_others_alone(endpoint: _Server) -> None:
    async with mcp_tools({"web": {"url": endpoint.url}}) as tools:
        tool = only(tools)
        texts = ["a", "503", "events", "hang up", "b", "401", "cut", "c"]
        outcomes = await asyncio.gather(*(call(tool, text=text) for text in texts))
    told = [each.output if isinstance(each, CallSucceeded) else each.kind for each in outcomes]
    assert told == ["a", "unknown", "ok", "unknown", "b", "hard", "unknown", "c"]
    assert sum(method == "initialize" for method, _ in endpoint.seen) == 1


async def test_a_session_that_the_server_has_forgotten_is_opened_anew(endpoint: _Server) -> None:
    async with mcp_tools({"web": {"url": endpoint.url}}) as tools:
        tool = only(tools)
        endpoint.forgets = 1
        assert await call(tool, text="forgotten") == CallSucceeded("forgotten")
        endpoint.forgets = 2
        outcome = await call(tool, text="forgotten")
        assert isinstance(outcome, CallFailed)
        assert (outcome.kind, outcome.nothing_happened) == ("soft", True)
    assert endpoint.calls() == 4


async def test_headers_go_along_and_secrets_into_no_log(
    endpoint: _Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    entry = {"url": endpoint.url, "headers": {"Authorization": "Bearer ${TOKEN}"}}
    async with mcp_tools({"web": entry}) as tools:
        tool = only(tools)
        assert await call(tool, text=f"it is {SECRET}") == CallSucceeded("it is [redacted]")
        await call(tool, text="hang up")
    assert {headers["Authorization"] for _, headers in endpoint.seen} == {f"Bearer {SECRET}"}
    assert SECRET not in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(("status", "words"), [(401, "status 401"), (404, "status 404"), (500, "status 500")])
async def test_an_endpoint_that_refuses_to_begin_is_one_line(
    endpoint: _Server, status: int, words: str
) -> None:
    endpoint.start_status = status
    with pytest.raises(ToolLoadError, match=f"the MCP server 'web' cannot be used: .*{words}$") as caught:
        async with mcp_tools({"web": {"url": f"{endpoint.url}?key={SECRET}"}}):
            pass
    assert SECRET not in str(caught.value)


async def test_a_real_server_over_http_is_called_and_its_death_is_told(tmp_path: Path) -> None:
    with office_over_http({"CALLS": str(tmp_path / "calls.txt")}) as (url, process):
        async with mcp_tools({"web": {"type": "http", "url": url}}) as tools:
            found = ToolRegistry.of(*tools)
            assert await call(found["shout"], text="ok") == CallSucceeded("OK")
            assert await call(found["save"], text="你好") == CallSucceeded("saved 你好")
            died = await call(found["die_writing"])
            await asyncio.to_thread(wait_until, lambda: process.poll() is not None, "it lives")
            after = await call(found["append"], text="x")
    assert isinstance(died, CallFailed)
    assert isinstance(after, CallFailed)
    assert (died.kind, died.code) == ("unknown", "connection_error")
    assert (after.kind, after.nothing_happened) == ("soft", True)
