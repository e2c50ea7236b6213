"""Finding the addresses of a host."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from tools.errors import HardToolError

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, as text, for a connection to a port."""

_NO_SUCH_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}


async def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host as the operating system knows them.

    A look-up cannot be called off. It runs in a thread of its own that is left behind when nobody waits any
    more: one of asyncio's threads would keep the process from ending for as long as name servers are silent.

    Raises:
        HardToolError: "unknown_host".
        OSError: The look-up did not work out this time.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(found: list[str] | BaseException) -> None:
        if answer.done():
            return
        if isinstance(found, BaseException):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def look_up() -> None:
        found = _outcome(host, port)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=look_up, name=f"look up {host}", daemon=True).start()
    return await answer


def _outcome(host: str, port: int) -> list[str] | BaseException:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_HOST:
            return HardToolError("unknown_host", f"there is no host {host!r}")
        return error
    except UnicodeError:
        return HardToolError("unknown_host", f"{host!r} is no host name")
    except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for it
        return error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
