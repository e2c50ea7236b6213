"""The tool `http_get`: a public web page or API answer as text, and nothing of the network it runs in."""

import ssl
from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from graph.plan import JSON
from tools.builtin.address import DEFAULT_PORTS, read_allowed
from tools.builtin.body import text_of
from tools.builtin.fetch import WebLimits, WebRules, fetch
from tools.builtin.lookup import Resolver, resolved
from tools.builtin.shapes import FLAG, TEXT, WHOLE, record
from tools.policy import policy

GRACE_SECONDS = 5.0
"""How much longer than its own limit a web tool's policy lets a call take, so that the tool says why."""

_ABOUT = "Fetch a public web page or API answer as text by its URL (http or https)."
_PAGE = record(url=TEXT, status=WHOLE, content_type=TEXT, text=TEXT, truncated=FLAG)


def http_get(
    *,
    allow: Sequence[str] = (),
    ports: Sequence[int] = DEFAULT_PORTS,
    limits: WebLimits | None = None,
    grounded: bool = False,
    resolve: Resolver = resolved,
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
) -> BaseTool:
    """Return a tool that gets a URL and returns `{"url", "status", "content_type", "text", "truncated"}`.

    It connects to public addresses alone. Each hop of a redirect is checked as the first one is, and the
    connection goes to the address that was checked, whatever a second look-up would say.

    Args:
        allow: Exceptions: `HOST`, `*.DOMAIN`, `ADDRESS` or `ADDRESS/BITS`, each with `:PORT` or without.
            A host by name may then have any address.
        ports: Ports that may be used where no exception says otherwise.
        limits: What one call may take.
        grounded: Whether a model may fetch only URLs that occur in the goal, the params or a result, so that
            nothing can be carried out of a run in a URL that was made up.
        resolve: How hosts' addresses are found.
        tls: Whose certificates are trusted; by default those that the operating system trusts.
        proxy: URL of a proxy that makes the connections; names are still looked up here. The environment's
            proxies are never used.

    Raises:
        ToolSetupError: An exception cannot be read.
    """
    bounds = limits or WebLimits()
    rules = WebRules(tuple(map(read_allowed, allow)), tuple(ports), resolve, tls, proxy)
    sources = frozenset({"url"}) if grounded else None

    @policy(effect="read", timeout=bounds.seconds + GRACE_SECONDS, grounded=sources, output_schema=_PAGE)
    async def get(url: str) -> dict[str, JSON]:
        page = await fetch(url, rules, bounds)
        text = text_of(page.content_type, page.body, truncated=page.truncated)
        found: dict[str, Any] = {"url": page.url, "status": page.status, "content_type": page.content_type}
        return {**found, "text": text, "truncated": page.truncated}

    return StructuredTool.from_function(coroutine=get, name="http_get", description=_ABOUT)
