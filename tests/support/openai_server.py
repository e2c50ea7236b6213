"""A scriptable OpenAI-compatible server on loopback: raw replies, statuses, delays, cut streams, a log.

    with OpenAIServer([text("hello"), error(429, "slow down", headers={"Retry-After": "0"})]) as server:
        model = server.model()
        ...
    assert server.requests[0]["messages"][0]["content"] == "..."

Replies are given in order, the last one ever after; a function of the request's body may stand for one.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

Json: TypeAlias = dict[str, Any]
SECRET = "sk-loopback-secret-1234567890"


@dataclass(frozen=True)
class Reply:
    """One raw answer; `stream` are the chunks for a client that wants a stream, of which `cut` sends one."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    stream: tuple[Json, ...] = ()
    cut: bool = False


Scripted: TypeAlias = Reply | Callable[[Json], Reply]


def raw(body: object, status: int = 200, **more: Any) -> Reply:
    """These bytes, this text, or this object as JSON."""
    if isinstance(body, bytes):
        return Reply(body, status, **more)
    return Reply((body if isinstance(body, str) else json.dumps(body)).encode(), status, **more)


USAGE: Json = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def message(
    content: object = None, *, finish: str | None = "stop", usage: Json | None = USAGE, **more: Any
) -> Reply:
    """A completion with this assistant message; `more` are further fields of the message."""
    said = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return raw({**whole, "usage": usage} if usage is not None else whole, stream=_chunks(said, finish, usage))


def text(content: str, **more: Any) -> Reply:
    return message(content, **more)


def obj(value: object, **more: Any) -> Reply:
    """A completion whose content is this object as JSON."""
    return message(json.dumps(value, ensure_ascii=False), **more)


def call(name: str, arguments: object, **more: Any) -> Json:
    """One tool call of a message; arguments that are no text go out as they are when `raw_arguments`."""
    as_is = more.pop("raw_arguments", False) or isinstance(arguments, str)
    function = {"name": name, "arguments": arguments if as_is else json.dumps(arguments)}
    return {"id": more.pop("id", "call_1"), "type": "function", "function": function}


def calls(*made: Json, **more: Any) -> Reply:
    """A completion that calls tools and says nothing."""
    return message(None, tool_calls=list(made), finish="tool_calls", **more)


def error(status: int, words: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Reply:
    """An error as OpenAI words it; `more` are further fields of it (`code`, `param`, `type`)."""
    return raw({"error": {"message": words, **more}}, status, headers=headers or {})


class OpenAIServer:
    """The server; use it in a `with`. `requests` are the bodies of all calls, `headers` their headers."""

    def __init__(self, replies: Sequence[Scripted] | Scripted) -> None:
        """Script the replies."""
        self.replies = list(replies) if isinstance(replies, Sequence) else [replies]
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use this server."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": SECRET}

    def model(self, **more: Any) -> ChatOpenAI:
        """A LangChain chat model on this server."""
        name = more.pop("name", "m")
        return ChatOpenAI(model=name, api_key=SecretStr(SECRET), base_url=self.url, max_retries=0, **more)

    def prompts(self) -> list[str]:
        """The text of all messages of each request."""
        return [
            "\n".join(str(each.get("content")) for each in body.get("messages", [])) for body in self.requests
        ]

    def next_reply(self, body: Json, path: str, headers: Mapping[str, str]) -> Reply:
        with self._lock:
            scripted = self.replies[min(len(self.requests), len(self.replies) - 1)]
            self.requests.append(body)
            self.paths.append(path)
            self.headers.append(dict(headers))
        return scripted if isinstance(scripted, Reply) else scripted(body)

    def __enter__(self) -> "OpenAIServer":
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent about clients that went away."""


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            reply = server.next_reply(body, self.path, dict(self.headers))
            time.sleep(reply.delay)
            if body.get("stream") and reply.stream:
                self._stream(reply)
            else:
                self._send(reply)

        def do_GET(self) -> None:
            self._send(raw({"object": "list", "data": [{"id": "m", "object": "model"}]}))

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            length = len(reply.body) + (100 if reply.cut else 0)
            for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(length))
            # LangChain keeps clients for later; what they would keep open, a test leaves behind.
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = True

        def _stream(self, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for chunk in reply.stream[:1] if reply.cut else reply.stream:
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if not reply.cut:
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Stay silent."""

    return Handler


def _chunks(said: Json, finish: str | None, usage: Json | None) -> tuple[Json, ...]:
    """The message in two chunks and an end."""
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    content = said.get("content")
    deltas: list[Json] = [{**said, "content": None}]
    if isinstance(content, str):
        half = len(content) // 2
        deltas = [{**said, "content": content[:half]}, {"content": content[half:]}]
    if said.get("tool_calls"):
        numbered = [{"index": at, **made} for at, made in enumerate(said["tool_calls"])]
        deltas[0] = {**deltas[0], "tool_calls": numbered}
    parts = [{**frame, "choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    last: Json = {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    return (*parts, {**last, "usage": usage} if usage else last)
