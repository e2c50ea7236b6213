"""Finding the addresses of hosts."""

import socket
import threading

import pytest

from tests.builtin.calling import failure
from tools.builtin import WebLimits, http_get
from tools.builtin.lookup import resolved


async def test_this_machine_is_found_by_its_name() -> None:
    assert {"127.0.0.1", "::1"} & set(await resolved("localhost", 80))


async def test_name_servers_that_are_silent_hold_up_neither_the_call_nor_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: [over.wait(60)][1:])
    tool = http_get(limits=WebLimits(seconds=0.2))
    try:
        failed = await failure(tool, "http_get", {"url": "http://silent.example/"})
        assert (failed.kind, failed.code) == ("soft", "timeout")
        (left,) = [each for each in threading.enumerate() if each.name == "look up silent.example"]
        assert left.daemon
    finally:
        over.set()
    left.join()


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (socket.EAI_AGAIN, "soft", "connection_error"),
        (socket.EAI_FAIL, "soft", "connection_error"),
        (socket.EAI_NONAME, "hard", "unknown_host"),
    ],
)
async def test_a_look_up_is_made_again_unless_the_answer_is_that_there_is_no_such_host(
    monkeypatch: pytest.MonkeyPatch, number: int, kind: str, code: str
) -> None:
    def fails(*_args: object, **_named: object) -> None:
        raise socket.gaierror(number, "no")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    failed = await failure(http_get(), "http_get", {"url": "http://some.example/"})
    assert (failed.kind, failed.code) == (kind, code)
