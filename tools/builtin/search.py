"""The tool `web_search`, through a search library or an endpoint of one's own."""

import importlib.util
import inspect
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import httpx2
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from graph.plan import JSON
from tools.builtin.address import Allowed, Target, read_url
from tools.builtin.body import text_of
from tools.builtin.fetch import WebLimits, WebRules, fetch
from tools.builtin.search_results import read_answer, search_address, tidied
from tools.builtin.shapes import TEXT, list_of, record
from tools.builtin.web import GRACE_SECONDS
from tools.errors import HardToolError, SoftToolError, ToolSetupError
from tools.policy import policy

Provider: TypeAlias = Literal["ddgs", "searxng", "json"]
PROVIDERS: Final[tuple[str, ...]] = get_args(Provider)
MAX_RESULTS: Final = 20
MAX_QUERY_CHARS: Final = 400
AUTHORIZATION: Final = "Authorization"

Query: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=MAX_RESULTS)]

_HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")
_REFUSED = frozenset({401, 403})
_ABOUT = "Search the web; fetch a result's url to read the page."
_FOUND = record(query=TEXT, results=list_of(title=TEXT, url=TEXT, snippet=TEXT))


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where a query is sent: a URL with `{query}` in it, headers that hold the key, and who that is."""

    template: str
    target: Target
    key: str | None = field(repr=False)
    headers: dict[str, str] = field(repr=False)


def web_search(
    provider: str = "ddgs",
    *,
    url: str | None = None,
    key: str | None = None,
    key_header: str = AUTHORIZATION,
    engines: str = "auto",
    region: str = "us-en",
    limits: WebLimits | None = None,
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
) -> BaseTool:
    """Return a tool that searches the web and returns `{"query", "results": [{"title", "url", "snippet"}]}`.

    Args:
        provider: "ddgs" for the library of that name, which asks public engines and needs the extra
            `search`; "searxng" for an instance of SearXNG; "json" for any endpoint that answers in JSON.
        url: For "searxng" its address. For "json" the address with `{query}` in it and, as wanted,
            `{max_results}` and `{key}`. It may be an address of this machine or network.
        key: The endpoint's key. It is sent to that endpoint alone.
        key_header: The header that holds the key; in "Authorization" it is a bearer token.
        engines: For "ddgs": which engines, such as "duckduckgo, brave".
        region: For "ddgs": country and language, such as "cn-zh".
        limits: What one search may take.
        tls: Whose certificates are trusted; by default those that the operating system trusts.
        proxy: URL of a proxy to go through.

    Raises:
        ToolSetupError: The provider is none of these, its library is not installed, or its URL is missing
            or no URL.
    """
    bounds = limits or WebLimits()
    if provider == "ddgs":
        _check_installed()
        return _tool(_library_search(engines, region, bounds, proxy), bounds)
    if provider not in PROVIDERS:
        raise ToolSetupError(
            f"there is no search provider {provider!r}; choose one of {', '.join(PROVIDERS)}"
        )
    endpoint = _endpoint(provider, url, key, key_header)
    target = endpoint.target
    rules = WebRules((Allowed(target.host, None, target.port),), tls=tls, proxy=proxy)
    return _tool(_endpoint_search(endpoint, rules, bounds), bounds)


def _tool(search: Callable[..., Any], limits: WebLimits) -> BaseTool:
    policy(effect="read", timeout=limits.seconds + GRACE_SECONDS, output_schema=_FOUND)(search)
    on_loop = inspect.iscoroutinefunction(search)
    return StructuredTool.from_function(
        func=None if on_loop else search,
        coroutine=search if on_loop else None,
        name="web_search",
        description=_ABOUT,
    )


def _endpoint_search(endpoint: _Endpoint, rules: WebRules, limits: WebLimits) -> Callable[..., Any]:
    async def search_endpoint(query: Query, max_results: Count = 5) -> dict[str, JSON]:
        address = search_address(endpoint.template, query, max_results, endpoint.key)
        try:
            page = await fetch(address, rules, limits, endpoint.headers)
        except httpx2.HTTPStatusError as error:
            raise _explained(error, endpoint.target) from None
        if page.truncated:
            raise HardToolError(
                "too_large", f"{endpoint.target.host} answers with more than {limits.max_bytes} bytes"
            )
        rows = read_answer(text_of(page.content_type, page.body, truncated=False))
        return {"query": query, "results": tidied(rows, max_results)}

    return search_endpoint


def _library_search(engines: str, region: str, limits: WebLimits, proxy: str | None) -> Callable[..., Any]:
    def search_library(query: Query, max_results: Count = 5) -> dict[str, JSON]:
        from ddgs import DDGS  # noqa: PLC0415 - an extra, and slow to load
        from ddgs.exceptions import DDGSException  # noqa: PLC0415

        # The library waits this long for one engine after the other.
        client = DDGS(proxy=proxy, timeout=max(1, int(limits.connect_seconds)))
        try:
            rows = client.text(query, region=region, backend=engines, max_results=max_results)
        except DDGSException as error:
            if "No results found" not in str(error):
                raise SoftToolError(f"no engine answered: {error}") from None
            rows = []
        return {"query": query, "results": tidied(rows, max_results)}

    return search_library


def _explained(error: httpx2.HTTPStatusError, target: Target) -> Exception:
    if error.response.status_code not in _REFUSED:
        return error
    remedy = "check the key, and for SearXNG that json is one of its search.formats"
    return HardToolError("search_refused", f"{target.host} refuses to answer in JSON; {remedy}")


def _endpoint(provider: str, url: str | None, key: str | None, key_header: str) -> _Endpoint:
    example = "https://searx.example/" if provider == "searxng" else "https://search.example/?q={query}"
    if not url:
        raise ToolSetupError(f"the search provider {provider!r} needs a url, such as {example}")
    template = url if provider == "json" else _searxng(url)
    if "{query}" not in template:
        raise ToolSetupError(f"the url of the search provider 'json' needs {{query}} in it, as in {example}")
    try:
        target = read_url(search_address(template, "x", 1, "k"))
    except HardToolError as error:
        raise ToolSetupError(f"the url of the search provider {provider!r} cannot be used: {error}") from None
    named = key_header.strip()
    if not _HEADER_NAME.fullmatch(named) or not (key or "").isascii() or not (key or "").isprintable():
        raise ToolSetupError("the search key or its header has a character that no header may have")
    value = f"Bearer {key}" if named.lower() == AUTHORIZATION.lower() else key
    headers = {} if not value or not key or "{key}" in template else {named: value}
    return _Endpoint(template, target, key, headers)


def _searxng(url: str) -> str:
    base = url.split("?", 1)[0].rstrip("/").removesuffix("/search")
    return f"{base}/search?q={{query}}&format=json"


def _check_installed() -> None:
    if importlib.util.find_spec("ddgs") is None:
        raise ToolSetupError(
            "web_search needs the package ddgs: pip install 'planrail[search]', or choose the provider "
            "searxng or json with a url"
        )
