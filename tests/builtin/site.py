"""A real web site on loopback, whose paths say what they answer and which remembers who asked."""

import gzip
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, str], bytes]
CHUNK = b"x" * 65_536


@dataclass(frozen=True)
class Asked:
    """One request: its path, its query's values and its headers, names in lower case."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass
class Site:
    """The running site."""

    host: str
    port: int
    routes: dict[str, Callable[[Asked], Answer]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def answers(
        self,
        path: str,
        body: bytes | str,
        content_type: str = "text/plain",
        status: int = 200,
        **headers: str,
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Content-Type": content_type} if content_type else {}
        self.routes[path] = lambda _asked: (status, {**given, **named}, data)

    def redirects(self, path: str, location: str, status: int = 302) -> None:
        self.routes[path] = lambda _asked: (status, {"Location": location}, b"moved")

    def packs(self, path: str, body: bytes, **headers: str) -> None:
        self.answers(path, gzip.compress(body), "text/plain", 200, Content_Encoding="gzip", **headers)

    def answers_json(self, path: str, value: Any, status: int = 200, **headers: str) -> None:
        self.answers(path, json.dumps(value), "application/json", status, **headers)


@contextmanager
def site(host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """Run a site; `/endless`, `/slow` and `/cut` it knows by itself."""
    server = _Server((host, port), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    running = Site(host, int(server.server_address[1]))
    server.site = running
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _nothing(_asked: Asked) -> Answer:
    return 404, {}, b"nothing"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    site: Site

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ending = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent about clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        asked = Asked(parts.path, query, {name.lower(): value for name, value in self.headers.items()})
        self.server.site.asked.append(asked)
        self.close_connection = True
        if parts.path in {"/endless", "/slow", "/cut"}:
            self._unfinished(parts.path)
        else:
            route = self.server.site.routes.get(parts.path, _nothing)
            self._answer(*route(asked))

    def _unfinished(self, path: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        if path == "/cut":
            self.send_header("Content-Length", "1000")
        self.end_headers()
        if path == "/cut":
            self.wfile.write(b"begins")
        ending = self.server.ending
        while path == "/endless" and not ending.is_set():
            self.wfile.write(CHUNK)
            self.server.site.sent += len(CHUNK)
        while path == "/slow" and not ending.is_set():
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.02)

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent."""
