"""`http_get` against real sites on loopback."""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator

import httpx2
import pytest
import trustme

from tests.builtin.calling import called, failure, output, refusal
from tests.builtin.fetching import allowed, code, got
from tests.builtin.site import Site, site
from tests.builtin.test_addresses import REFUSED
from tests.guards.source import ROOT
from tools import CallSucceeded, ToolRegistry
from tools.builtin import WebLimits, http_get

SECOND_ADDRESS = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8 without being told"
)


def _answering(*addresses: str, asked: list[str] | None = None) -> Callable[[str, int], Awaitable[list[str]]]:
    """A resolver that gives one address after the other, and the last one ever after."""
    left = list(addresses)

    async def resolve(host: str, _port: int) -> list[str]:
        if asked is not None:
            asked.append(host)
        return [left.pop(0) if len(left) > 1 else left[0]]

    return resolve


async def test_a_page_comes_with_where_it_came_from(web: Site) -> None:
    web.answers("/a%20b", "héllo 你好", "text/html; charset=utf-8")
    assert await got(web, "/a%20b?q=1#part") == {
        "url": f"{web.url}/a%20b?q=1",
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "text": "héllo 你好",
        "truncated": False,
    }
    (asked,) = web.asked
    assert asked.headers["host"] == f"127.0.0.1:{web.port}"
    assert not {"authorization", "cookie"} & asked.headers.keys()


async def test_redirects_are_followed_to_the_end(web: Site) -> None:
    web.redirects("/1", "/2", 301)
    web.redirects("/2", f"{web.url}/3", 307)
    web.redirects("/3", "4?x=1", 303)
    web.answers("/4", "there", Set_Cookie="a=b")
    assert (await got(web, "/1"))["url"] == f"{web.url}/4?x=1"
    web.redirects("/5", "/6", 308)
    web.answers("/6", "there")
    web.routes["/5"] = lambda _asked: (302, {"Location": "/6", "Set-Cookie": "session=1"}, b"")
    await got(web, "/5")
    assert "cookie" not in web.asked[-1].headers


async def test_a_redirect_without_end_is_given_up(web: Site) -> None:
    web.redirects("/round", "/round")
    assert await code(web, "/round") == "too_many_redirects"
    assert len(web.asked) == 6


INSIDE = [
    url for url in REFUSED if url.startswith("http://") and url.count("/") == 3 and "example" not in url
]


@pytest.mark.parametrize("url", INSIDE)
async def test_no_form_of_an_inside_address_reaches_the_site(web: Site, url: str) -> None:
    with_port = f"{url.removesuffix('/')}:{web.port}/"
    ports = (80, web.port)
    assert await refusal(http_get(ports=ports), "http_get", {"url": with_port}) in {
        "refused_address",
        "refused_url",
    }
    assert web.asked == []


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/inside",
        "//127.0.0.1:{port}/inside",
        "http://localhost:{port}/inside",
        "http://2130706433:{port}/inside",
        "http://[::ffff:127.0.0.1]:{port}/inside",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "http://user@site.example:{port}/inside",
        "http://[",
        "http://site.example:22/inside",
    ],
)
async def test_a_redirect_that_leads_inside_is_not_followed(web: Site, location: str) -> None:
    """The first hop is allowed by its name alone, as a public site would be by its address."""
    web.redirects("/start", location.format(port=web.port))
    web.answers("/inside", "secret")
    tool = http_get(allow=[f"site.example:{web.port}"], resolve=_resolve_like_the_system)
    url = f"http://site.example:{web.port}/start"
    assert await refusal(tool, "http_get", {"url": url}) in {"refused_address", "refused_url"}
    assert [each.path for each in web.asked] == ["/start"]


async def _resolve_like_the_system(host: str, port: int) -> list[str]:
    return await _answering("127.0.0.1")("", 0) if host == "site.example" else await _system(host, port)


async def _system(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port)
    return [str(entry[4][0]) for entry in found]


@SECOND_ADDRESS
async def test_the_connection_goes_to_the_address_that_was_checked(web: Site) -> None:
    """A name whose address changes between the check and the connection is looked up once."""
    web.answers("/", "the one that was checked")
    asked: list[str] = []
    with site("127.0.0.2", web.port) as other:
        tool = http_get(
            allow=[f"127.0.0.1:{web.port}"], resolve=_answering("127.0.0.1", "127.0.0.2", asked=asked)
        )
        page = await output(tool, "http_get", {"url": f"http://site.example:{web.port}/"})
        assert page["text"] == "the one that was checked"
        assert other.asked == []
    assert asked == ["site.example"]
    assert web.asked[0].headers["host"] == f"site.example:{web.port}"


@SECOND_ADDRESS
async def test_a_name_that_leads_inside_at_the_second_look_is_refused_then(web: Site) -> None:
    web.redirects("/start", "/inside")
    with site("127.0.0.2", web.port) as other:
        tool = http_get(allow=[f"127.0.0.1:{web.port}"], resolve=_answering("127.0.0.1", "127.0.0.2"))
        url = f"http://site.example:{web.port}/start"
        assert await refusal(tool, "http_get", {"url": url}) == "refused_address"
        assert other.asked == []


async def test_the_next_address_is_tried_where_one_does_not_answer(web: Site) -> None:
    web.answers("/", "here")

    async def both(_host: str, _port: int) -> list[str]:
        return ["127.0.0.3", "127.0.0.1"]

    tool = http_get(allow=[f"site.example:{web.port}"], resolve=both)
    assert (await output(tool, "http_get", {"url": f"http://site.example:{web.port}/"}))["text"] == "here"


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "hard", "http_400"),
        (404, "hard", "http_404"),
        (408, "soft", "http_408"),
        (429, "soft", "http_429"),
        (500, "soft", "http_500"),
        (503, "soft", "http_503"),
        (304, "hard", "request_error"),
    ],
)
async def test_a_status_says_whether_to_try_again(web: Site, status: int, kind: str, code: str) -> None:
    web.answers("/", "no", status=status, Retry_After="7")
    failed = await failure(allowed(web), "http_get", {"url": f"{web.url}/?token=s3cret"})
    assert (failed.kind, failed.code) == (kind, code)
    assert failed.retry_after == (7 if kind == "soft" else None)
    assert f"127.0.0.1 answered {status}" in failed.message
    assert "s3cret" not in failed.message


async def test_a_connection_that_breaks_is_tried_again(web: Site) -> None:
    for url in (f"{web.url}/cut", "http://127.0.0.9:1/"):
        tool = http_get(allow=["127.0.0.0/8"])
        failed = await failure(tool, "http_get", {"url": url})
        assert (failed.kind, failed.code) == ("soft", "connection_error")


async def test_a_host_that_nobody_knows_is_not_asked_for_again() -> None:
    too_long = {"url": f"http://{'x' * 64}.example/"}
    assert await refusal(http_get(), "http_get", too_long) == "unknown_host"
    for resolve in (_answering("not an address"), _answering("")):
        tool = http_get(resolve=resolve)
        assert await refusal(tool, "http_get", {"url": "http://x.example/"}) == "unknown_host"


async def test_the_proxies_of_the_environment_are_not_used(
    web: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.answers("/", "direct")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await got(web, "/"))["text"] == "direct"


async def test_a_proxy_that_was_set_gets_the_checked_address(web: Site) -> None:
    web.routes["http://93.184.216.34/page"] = lambda _asked: (
        200,
        {"Content-Type": "text/plain"},
        b"by proxy",
    )
    web.routes["/page"] = web.routes["http://93.184.216.34/page"]
    tool = http_get(proxy=web.url, resolve=_answering("93.184.216.34"))
    assert (await output(tool, "http_get", {"url": "http://site.example/page"}))["text"] == "by proxy"
    assert web.asked[0].headers["host"] == "site.example"
    refused = http_get(proxy=web.url, resolve=_answering("127.0.0.1"))
    assert await refusal(refused, "http_get", {"url": "http://site.example/page"}) == "refused_address"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[Site]:
    """A site with a certificate for site.example."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("site.example").configure_cert(context)
    with site(tls=context) as running:
        running.answers("/", "secure")
        yield running


async def test_a_certificate_is_held_against_the_name_and_not_the_address(
    secure: Site, authority: trustme.CA
) -> None:
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    tool = http_get(allow=["127.0.0.1"], resolve=_answering("127.0.0.1"), tls=trusting)
    page = await output(tool, "http_get", {"url": f"https://site.example:{secure.port}/"})
    assert page["text"] == "secure"
    other = {"url": f"https://other.example:{secure.port}/"}
    assert await refusal(tool, "http_get", other) == "bad_certificate"
    untrusting = http_get(allow=["127.0.0.1"], resolve=_answering("127.0.0.1"))
    url = {"url": f"https://site.example:{secure.port}/"}
    assert await refusal(untrusting, "http_get", url) == "bad_certificate"
    assert len(secure.asked) == 1


FIRST_FETCH = """
import asyncio, sys
from blockbuster import blockbuster_ctx
from tools.builtin.address import read_allowed
from tools.builtin.fetch import WebLimits, WebRules, fetch

async def main():
    with blockbuster_ctx():  # any read of a file on the event loop is an error from here on
        for url in sys.argv[1:]:
            page = await fetch(url, WebRules((read_allowed("127.0.0.1"),)), WebLimits())
            print(page.body.decode(), flush=True)

asyncio.run(main())
"""


def test_the_event_loop_of_a_server_never_waits_for_a_disk(web: Site, secure: Site) -> None:
    """Servers such as `langgraph dev` refuse calls that block; a process loads most at its first fetch."""
    pytest.importorskip("blockbuster")
    web.answers("/", "plain")
    script = [sys.executable, "-c", FIRST_FETCH, f"{web.url}/", f"https://127.0.0.1:{secure.port}/"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "plain\n", done.stderr
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr.splitlines()[-1]


def test_the_policy_is_that_of_a_read_with_time_for_its_own_message() -> None:
    tool = ToolRegistry.of(http_get(limits=WebLimits(seconds=3)))["http_get"]
    assert (tool.effect, tool.policy.timeout, tool.grounded) == ("read", 8.0, frozenset())
    assert ToolRegistry.of(http_get(grounded=True))["http_get"].grounded == {"url"}


async def test_many_pages_are_fetched_at_once(web: Site) -> None:
    for number in range(8):
        web.answers(f"/{number}", str(number))
    tool = allowed(web)
    found = await asyncio.gather(
        *(called(tool, "http_get", {"url": f"{web.url}/{number}"}) for number in range(8))
    )
    assert [each.output["text"] for each in found if isinstance(each, CallSucceeded)] == list("01234567")  # type: ignore[call-overload,index]


def test_the_library_says_what_the_classes_of_errors_are_called() -> None:
    """What a failure means is told from these names."""
    for name in ("TimeoutException", "NetworkError", "ProxyError", "RemoteProtocolError"):
        assert issubclass(getattr(httpx2, name), httpx2.HTTPError)
