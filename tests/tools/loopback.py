"""A real HTTP server on loopback that answers as its paths say."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class _Handler(BaseHTTPRequestHandler):
    """`/status/404`, `/status/429/after/7`, `/slow`, `/drop`, `/cut`; any path may follow."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        match [unquote(part) for part in urlsplit(self.path).path.split("/")]:
            case ["", "status", status, "after", value, *_]:
                self._answer(int(status), b'{"error": {"message": "no"}}', {"Retry-After": value})
            case ["", "status", status, *_]:
                self._answer(int(status), b'{"error": {"message": "no"}}', {})
            case ["", "slow", *_]:
                time.sleep(1.0)
                self._answer(200, b"{}", {})
            case ["", "cut", *_]:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"begins")
                self.close_connection = True
            case _:
                self.connection.close()
                self.close_connection = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.do_GET()

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent about clients that went away."""


@contextmanager
def serving() -> Iterator[str]:
    """Yield the base URL of a running server."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
