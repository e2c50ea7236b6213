"""A small HTTP server on this machine, for walkthroughs that need somebody to call."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

_POLL_SECONDS = 0.05
_LINES = threading.Lock()


@dataclass(frozen=True)
class Asked:
    """One GET: the host in lower case, the path as plain text, and the first value of each query name."""

    host: str
    path: str
    query: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """What is sent back."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Respond: TypeAlias = Callable[[Asked], Answer]


@contextmanager
def serving(respond: Respond) -> Iterator[str]:
    """Answer GETs for as long as the context lasts, those of a client too that takes it for its proxy.

    Args:
        respond: Called for each, in a thread of its own.

    Yields:
        The server's address, such as `http://127.0.0.1:4711`.
    """
    server = _Server(("127.0.0.1", 0), _handler(respond))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def note_line(file: Path, line: str) -> None:
    """Append a line to a file, whole also when several threads do so."""
    with _LINES, file.open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent about clients that went away."""


def _handler(respond: Respond) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = respond(_read(self.path, self.headers.get("Host", "")))
            self.send_response(answer.status)
            named = {"Content-Type": answer.content_type, **answer.headers}
            for name, value in {**named, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Stay silent."""

    return Handler


def _read(address: str, host: str) -> Asked:
    """A request's address; whoever takes the server for a proxy writes the host there, too."""
    parts = urlsplit(address)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return Asked(host.partition(":")[0].lower(), unquote(parts.path), query)
