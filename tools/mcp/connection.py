"""One session with an MCP server, and how it ends."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import httpx
import mcp.types as mcp
from mcp import ClientSession, McpError
from pydantic import ValidationError

from graph.plan import JSON
from tools.errors import SoftToolError
from tools.mcp.config import ServerConfig
from tools.mcp.http_faults import FAULT_CODE, Faults
from tools.mcp.last_words import LastWords
from tools.mcp.masking import masked, secrets_of
from tools.mcp.results import Answer
from tools.mcp.transport import open_session

T = TypeVar("T")

_CLOSING_SECONDS = 7.0
"""Seconds for a server to end, in three steps of the SDK: end of input, SIGTERM, SIGKILL."""
_NOTICE_SECONDS = 1.0

_notices: set[asyncio.Task[None]] = set()


class ConnectionLost(ConnectionError):  # noqa: N818 - named as what the record then says
    """The connection to an MCP server ended while a call was under way."""


class Connection:
    """One session, held open by a task of its own: what is opened in a task must be closed in it."""

    def __init__(self, server: ServerConfig) -> None:
        """Make one that is not open yet; to be used on one loop."""
        self._server = server
        self._faults = Faults()
        self._session: ClientSession | None = None
        self._ready, self._leave = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    @property
    def ended(self) -> bool:
        """Whether the session is known to be gone; a server's silent death shows at the next call."""
        return self._leave.is_set() or self._task is None or self._task.done()

    async def open(self) -> None:
        """Reach the server, which has its `start_timeout` for that.

        Raises:
            SoftToolError: It cannot be reached; the message begins with a verb.
        """
        limit = self._server.start_timeout
        words = LastWords(self._server.name, secrets_of(self._server))
        self._task = asyncio.create_task(self._hold(words), name=f"mcp {self._server.name}")
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({self._task, ready}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            await self.close(at_once=True)
            raise
        finally:
            ready.cancel()
            words.close()
        if self._session is None or self.ended:
            late = not (self._task.done() or self._leave.is_set())
            await self.close(at_once=True)
            reason = f"did not answer within {limit:g} s" if late else self._why()
            last = await asyncio.to_thread(words.last, _NOTICE_SECONDS)
            raise SoftToolError(f"{reason} (its last words: {last})" if last else reason)

    async def request(self, request: mcp.ClientRequestType, kind: type[Any]) -> Any:
        """Return the server's answer to a request.

        Raises:
            McpError: The answer is an error.
            ConnectionLost: The session ended meanwhile.
            anyio.ClosedResourceError, anyio.BrokenResourceError: It had ended before, and nothing was sent.
        """
        assert self._session is not None
        return await self._during(self._answer(self._session, mcp.ClientRequest(request), kind))

    async def call(self, tool: str, arguments: dict[str, JSON]) -> Answer:
        """Return the server's answer to a call; raises as `request`."""
        params = mcp.CallToolRequestParams(name=tool, arguments=arguments)
        answer: Answer = await self.request(mcp.CallToolRequest(params=params), Answer)
        return answer

    def fault(self, error: McpError) -> Exception | None:
        """Return the fault of the connection that an error stands for, if it does."""
        return self._faults.take(error.error.data) if error.error.code == FAULT_CODE else None

    async def close(self, *, at_once: bool = False) -> None:
        """Leave the session and end a started server; `at_once` does not wait for what is under way."""
        self._leave.set()
        if self._task is None:
            return
        if at_once or not self._ready.is_set():
            self._cancel(self._task)
        await asyncio.wait({self._task}, timeout=_CLOSING_SECONDS)
        self._cancel(self._task)

    def _cancel(self, task: asyncio.Task[None]) -> None:
        """Cancel once: a second time would interrupt the SDK while it ends the server."""
        if not self._cancelled:
            self._cancelled = True
            task.cancel()

    async def _hold(self, words: LastWords) -> None:
        async with open_session(self._server, words.file, self._faults) as self._session:
            self._ready.set()
            await self._leave.wait()

    async def _during(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._task is not None
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise ConnectionLost(f"the MCP server {self._server.name!r} {self._why()}")
        finally:
            task.cancel()

    async def _answer(self, session: ClientSession, request: mcp.ClientRequest, kind: type[Any]) -> Any:
        number = session._request_id  # noqa: SLF001 - the one it will have, which nothing else tells
        try:
            return await session.send_request(request, kind)
        except asyncio.CancelledError:
            notice = asyncio.create_task(_tell_cancelled(session, number))
            _notices.add(notice)
            notice.add_done_callback(_notices.discard)
            raise

    def _why(self) -> str:
        """Why the session ended or never began, in words that follow the server's name."""
        assert self._task is not None
        error = self._task.exception() if self._task.done() and not self._task.cancelled() else None
        found = next(_leaves(error), None) if error is not None else None
        if isinstance(found, McpError):
            found = self.fault(found) or found
        return masked(_words_for(found), secrets_of(self._server))


def _words_for(error: BaseException | None) -> str:  # noqa: PLR0911 - one line per kind of error
    match error:
        case None:
            return "ended"
        case httpx.HTTPStatusError():
            return f"cannot be used: {error}"
        case httpx.TransportError() | OSError():
            return f"cannot be reached: {type(error).__name__}"
        case McpError() if error.error.code == mcp.CONNECTION_CLOSED:
            return "ended at its start"
        case McpError():
            return f"refuses to begin: {error}"
        case ValidationError():
            return "does not speak the protocol"
    return f"cannot be used: {type(error).__name__}: {error}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


async def _tell_cancelled(session: ClientSession, number: int) -> None:
    """Tell the server that nobody waits for a request any more."""
    params = mcp.CancelledNotificationParams(requestId=number, reason="the caller waits no longer")
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_NOTICE_SECONDS):
            await session.send_notification(mcp.ClientNotification(mcp.CancelledNotification(params=params)))
