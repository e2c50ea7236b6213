"""One guarded GET: every hop is checked, and the connection goes to the very address that was checked."""

import asyncio
import functools
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import httpx2

from tools.builtin.address import (
    DEFAULT_PORTS,
    REFUSED_ADDRESS,
    Address,
    Allowed,
    Target,
    read_url,
    refusal,
    written_address,
)
from tools.builtin.body import read_body
from tools.builtin.lookup import Resolver, resolved
from tools.errors import HardToolError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_ADDRESSES = 3
_ACCEPT = "text/html, application/xhtml+xml, application/json, text/*;q=0.9, application/xml;q=0.9, */*;q=0.1"
_HEADERS = {"Accept": _ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "planrail", "Connection": "close"}


@dataclass(frozen=True, slots=True)
class WebLimits:
    """What one fetch may take.

    Attributes:
        max_bytes: Bytes that are read of a page, counted as they come and again after unpacking.
        seconds: Time for all of it, redirects and name look-ups included.
        connect_seconds: Time to connect to one address.
        redirects: Redirects that are followed.
    """

    max_bytes: int = 2_000_000
    seconds: float = 20.0
    connect_seconds: float = 5.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class WebRules:
    """What may be connected to, and how.

    Attributes:
        allow: Exceptions from the rules on ports and addresses.
        ports: Ports that may be used.
        resolve: How hosts' addresses are found.
        tls: Whose certificates are trusted; None for those that the operating system trusts.
        proxy: URL of a proxy that makes the connections. The environment's proxies are never used.
    """

    allow: tuple[Allowed, ...] = ()
    ports: tuple[int, ...] = DEFAULT_PORTS
    resolve: Resolver = resolved
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered.

    Attributes:
        url: Where it came from, after redirects.
        status: HTTP status, 200 to 299.
        content_type: The header's value; "" where there is none.
        body: Its bytes, unpacked.
        truncated: Whether there is more of it.
    """

    url: str
    status: int
    content_type: str
    body: bytes
    truncated: bool


async def fetch(
    url: str, rules: WebRules, limits: WebLimits, headers: Mapping[str, str] | None = None
) -> Page:
    """Get a page.

    Args:
        url: What to get.
        rules: What may be connected to.
        limits: What it may take.
        headers: Sent to the site of `url`, and to no other that it redirects to.

    Raises:
        HardToolError: "refused_url", "refused_address", "unknown_host", "too_many_redirects",
            "unknown_encoding".
        httpx2.HTTPError: The connection failed, or the status says that there is no page.
        TimeoutError: It takes too long.
    """
    target = read_url(url)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _follow(target, rules, limits, headers or {})
    except TimeoutError:
        raise TimeoutError(f"{target.host} did not answer in full within {limits.seconds:g} s") from None


async def _follow(target: Target, rules: WebRules, limits: WebLimits, headers: Mapping[str, str]) -> Page:
    first = target.origin
    for _ in range(limits.redirects + 1):
        own = headers if target.origin == first else {}
        answer = await _hop(target, rules, limits, own)
        if isinstance(answer, Page):
            return answer
        target = answer
    raise HardToolError("too_many_redirects", f"{first[1]} redirects more than {limits.redirects} times")


async def _hop(
    target: Target, rules: WebRules, limits: WebLimits, headers: Mapping[str, str]
) -> Page | Target:
    addresses = await checked_addresses(target, rules)
    # One for each hop: no connection, cookie or TLS session of another host is ever used again.
    async with await asyncio.to_thread(_transport, target, rules) as transport:
        response = await _answer(transport, target, addresses, limits, headers)
        try:
            return _redirected(target, response) or await _page(target, response, limits)
        finally:
            await response.aclose()


async def checked_addresses(target: Target, rules: WebRules) -> list[Address]:
    """Return the addresses to connect to, every one of which may be connected to.

    Raises:
        HardToolError: "refused_address" when one may not: a name that also leads inside is not to be trusted.
    """
    written = written_address(target.host)
    found = [written] if written else await _looked_up(target, rules)
    for address in found:
        reason = refusal(target, address, rules.allow, rules.ports)
        if reason is not None:
            raise HardToolError(REFUSED_ADDRESS, f"this may not be fetched: {reason}")
    return found


async def _looked_up(target: Target, rules: WebRules) -> list[Address]:
    texts = await rules.resolve(target.host, target.port)
    found = [address for address in map(written_address, texts) if address is not None]
    if not found:
        raise HardToolError("unknown_host", f"the host {target.host!r} has no address")
    return found


async def _answer(
    transport: httpx2.AsyncHTTPTransport,
    target: Target,
    addresses: Sequence[Address],
    limits: WebLimits,
    headers: Mapping[str, str],
) -> httpx2.Response:
    """Ask one address after the other until one can be connected to."""
    *others, last = addresses[:_MOST_ADDRESSES]
    for address in others:
        try:
            return await transport.handle_async_request(_request(target, address, limits, headers))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await transport.handle_async_request(_request(target, last, limits, headers))


def _request(
    target: Target, address: Address, limits: WebLimits, headers: Mapping[str, str]
) -> httpx2.Request:
    """Ask the address in the host's name: it is not looked up again, and the certificate must be its own."""
    waits = {"connect": limits.connect_seconds} | dict.fromkeys(("read", "write", "pool"), limits.seconds)
    return httpx2.Request(
        "GET",
        target.url.copy_with(host=str(address)),
        headers={**_HEADERS, **headers, "Host": target.url.netloc.decode("ascii")},
        extensions={"timeout": waits, "sni_hostname": target.host},
    )


def _redirected(target: Target, response: httpx2.Response) -> Target | None:
    location = response.headers.get("Location")
    if response.status_code not in _REDIRECTS or not location:
        return None
    try:
        return read_url(target.url.join(location))
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise HardToolError("refused_url", f"{target.host} redirects to what is no URL") from None


async def _page(target: Target, response: httpx2.Response, limits: WebLimits) -> Page:
    if not response.is_success:
        said = f"{target.host} answered {response.status_code} {response.reason_phrase}".strip()
        request = httpx2.Request("GET", target.url)
        raise httpx2.HTTPStatusError(said, request=request, response=response)
    body, truncated = await read_body(response, limits.max_bytes)
    content_type = response.headers.get("Content-Type", "")
    return Page(str(target.url), response.status_code, content_type, body, truncated)


def _transport(target: Target, rules: WebRules) -> httpx2.AsyncHTTPTransport:
    """Get ready to connect; reads certificates from disk, which the event loop must not wait for."""
    trust = (rules.tls or _system_trust()) if target.url.scheme == "https" else _nobody()
    return httpx2.AsyncHTTPTransport(verify=trust, trust_env=False, proxy=rules.proxy)


@functools.cache
def _system_trust() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


@functools.cache
def _nobody() -> ssl.SSLContext:
    """What a connection without TLS never uses: it trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
