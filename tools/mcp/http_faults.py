"""Keeps a fault of one HTTP request from ending the whole MCP session.

The SDK meets an error status or a lost connection by closing the session, and every other call under way
with it; some faults it does not tell at all, and the call waits for its timeout. Here the request that failed
is answered with a JSON-RPC error instead, and the others go on.
"""

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

FAULT_CODE = -32098
"""JSON-RPC code of an error that stands for a fault of the connection."""

_NOT_FOUND = 404
_ACCEPTED = 202
_ERRORS = range(400, 600)


class Faults:
    """The exceptions that were turned into errors, to be found again."""

    def __init__(self) -> None:
        """Begin without any."""
        self._found: dict[str, Exception] = {}

    def error_for(self, asked: int | str, error: Exception) -> bytes:
        """Return the JSON-RPC error that stands for an exception; `asked` is the request's id."""
        token = uuid.uuid4().hex
        self._found[token] = error
        fault = {"code": FAULT_CODE, "message": "connection lost", "data": {"fault": token}}
        return json.dumps({"jsonrpc": "2.0", "id": asked, "error": fault}).encode()

    def take(self, data: object) -> Exception | None:
        """Return the exception behind an error, once; `data` is the error's."""
        token = data.get("fault") if isinstance(data, Mapping) else None
        return self._found.pop(token, None) if isinstance(token, str) else None


class FaultTolerantClient(httpx.AsyncClient):
    """An HTTP client for the SDK that turns the faults of JSON-RPC requests into answers."""

    def __init__(self, faults: Faults, **kwargs: Any) -> None:
        """Take httpx's own arguments, and where faults are put."""
        super().__init__(**kwargs)
        self._faults = faults

    async def send(self, request: httpx.Request, **kwargs: Any) -> httpx.Response:
        """As httpx's own."""
        asked = _asked(request)
        if asked is None:
            return await super().send(request, **kwargs)
        try:
            response = await super().send(request, **kwargs)
            return await self._judged(request, response, asked)
        except (httpx.TransportError, httpx.DecodingError) as error:
            return self._answered(request, asked, error)

    async def _judged(
        self, request: httpx.Request, response: httpx.Response, asked: int | str
    ) -> httpx.Response:
        ended = response.status_code == _NOT_FOUND and "mcp-session-id" in request.headers
        if response.status_code in _ERRORS and not ended:
            await response.aclose()
            said = f"the server answered with status {response.status_code}"
            error = httpx.HTTPStatusError(said, request=request, response=response)
            return self._answered(request, asked, error)
        kind = response.headers.get("content-type", "").lower()
        if not response.is_success or response.status_code == _ACCEPTED:
            return response
        if kind.startswith("text/event-stream"):
            return response if "content-encoding" in response.headers else self._followed(response, asked)
        if not kind.startswith("application/json") or not _is_object(await response.aread()):
            await response.aclose()
            raise httpx.RemoteProtocolError("the server answered with what is no JSON-RPC", request=request)
        return response

    def _answered(self, request: httpx.Request, asked: int | str, error: Exception) -> httpx.Response:
        headers = {"content-type": "application/json"}
        content = self._faults.error_for(asked, error)
        return httpx.Response(200, headers=headers, content=content, request=request)

    def _followed(self, response: httpx.Response, asked: int | str) -> httpx.Response:
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Events(response, self._faults, asked),
            extensions=response.extensions,
            request=response.request,
        )


class _Events(httpx.AsyncByteStream):
    """A stream of events that is followed by an error, read by nobody who has had an answer.

    A server that numbers its events lets the client take the stream up again, so that nothing is lost yet.
    """

    def __init__(self, response: httpx.Response, faults: Faults, asked: int | str) -> None:
        self._response, self._faults, self._asked = response, faults, asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        numbered = False
        lost: httpx.TransportError = httpx.RemoteProtocolError("the server hung up before it answered")
        try:
            async for chunk in self._response.aiter_raw():
                numbered = numbered or chunk.startswith(b"id:") or b"\nid:" in chunk
                yield chunk
        except httpx.TransportError as error:
            if numbered:
                raise
            lost = error
        if not numbered:
            yield b"\n\nevent: message\ndata: " + self._faults.error_for(self._asked, lost) + b"\n\n"

    async def aclose(self) -> None:
        await self._response.aclose()


def _asked(request: httpx.Request) -> int | str | None:
    """The id of the JSON-RPC request in a POST; None for all that wants no answer."""
    if request.method != "POST":
        return None
    try:
        body: Any = json.loads(request.content)
    except (ValueError, httpx.RequestNotRead):
        return None
    asked = body.get("id") if isinstance(body, dict) and "method" in body else None
    return asked if isinstance(asked, (int, str)) else None


def _is_object(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except ValueError:
        return False
