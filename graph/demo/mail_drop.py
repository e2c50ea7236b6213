"""A mail server on this machine that keeps what it is sent as files, for walkthroughs that send mail."""

import os
import socketserver
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 60
_MAX_LINE = 4_096
_MAX_BYTES: Final = 25_000_000


@contextmanager
def mailbox(folder: Path) -> Iterator[int]:
    """Take mails for as long as the context lasts, from anybody on this machine and for everybody.

    Each mail becomes a file `.eml`, which is on disk before its sender is told that it was taken. There
    is neither encryption nor a login: the server is reached from this machine alone.

    Args:
        folder: Where the mails go; made by the first one.

    Yields:
        The port on 127.0.0.1.
    """
    server = _Server(("127.0.0.1", 0), _talk_into(folder))
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def mails_in(folder: Path) -> list[Path]:
    """The mails of a folder, in the order in which they came."""
    return sorted(folder.glob("*.eml"))


def _keep(folder: Path, content: bytes) -> str:
    """Put one mail into the folder, whole or not at all, and return the name it has there."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{uuid.uuid4().hex[:4]}.eml"
    part = folder / f".{name}.part"
    with part.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.rename(folder / name)
    return name


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent about clients that went away."""


class _Talk(socketserver.StreamRequestHandler):
    """One client's words, in the part of RFC 5321 that handing over a mail takes."""

    timeout = _PATIENCE_SECONDS
    folder: Path

    def handle(self) -> None:
        self._recipients = 0
        self._say("220 localhost")
        while line := self.rfile.readline(_MAX_LINE):
            word = line[:4].decode("ascii", "replace").strip().upper()
            if word == "QUIT":
                self._say("221 bye")
                return
            answer = self._ANSWERS.get(word)
            self._say(answer(self) if answer else "502 not known here")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _hello(self) -> str:
        return "250 localhost"

    def _hello_and_more(self) -> str:
        return f"250-localhost\r\n250-8BITMIME\r\n250 SIZE {_MAX_BYTES}"

    def _reset(self) -> str:
        self._recipients = 0
        return "250 ok"

    def _recipient(self) -> str:
        self._recipients += 1
        return "250 ok"

    def _nothing(self) -> str:
        return "250 ok"

    def _data(self) -> str:
        if not self._recipients:
            return "503 name a recipient first"
        self._say("354 go ahead")
        content = self._body()
        self._recipients = 0
        if len(content) > _MAX_BYTES:
            return "552 too large"
        return f"250 kept as {_keep(self.folder, content)}"

    def _body(self) -> bytes:
        """The mail up to its last line, a lone dot; of one that is too large just enough to tell."""
        content = bytearray()
        starts = True  # a long line comes in pieces, of which only the first can begin with a dot of SMTP's
        while (piece := self.rfile.readline(_MAX_LINE)) != b".\r\n" or not starts:
            if not piece:
                raise ConnectionError("the client went away in the middle of its mail")
            if len(content) <= _MAX_BYTES:
                content += piece.removeprefix(b".") if starts else piece
            starts = piece.endswith(b"\n")
        return bytes(content)

    _ANSWERS: Final[Mapping[str, Callable[["_Talk"], str]]] = {
        "EHLO": _hello_and_more,
        "HELO": _hello,
        "MAIL": _reset,
        "RCPT": _recipient,
        "DATA": _data,
        "RSET": _reset,
        "NOOP": _nothing,
    }


def _talk_into(folder: Path) -> type[_Talk]:
    return type("Talk", (_Talk,), {"folder": folder})
