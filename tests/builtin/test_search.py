"""`web_search` against real endpoints on loopback, and through the real search library."""

import importlib.util
from typing import Any, ClassVar

import pytest
from ddgs.base import BaseSearchEngine
from ddgs.engines import ENGINES
from ddgs.results import TextResult
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import BaseTool

from graph.plan import JSON, canonical_json
from tests.builtin.calling import failure, output, refusal
from tests.builtin.site import Site, site
from tools import HardToolError, SoftToolError, ToolRegistry, ToolSetupError
from tools.builtin import WebLimits, web_search
from tools.builtin.search_results import read_answer, search_address, tidied

ROWS = [
    {"title": "First <b>page</b> &amp; more", "url": "https://a.example/1", "content": "About  <em>one</em>"},
    {"title": "", "url": "https://a.example/2", "content": None},
    {"title": "Again", "url": "https://a.example/1", "content": "the same page"},
    {"title": "Script", "url": "javascript:alert(1)", "content": "no web address"},
    "not an object",
    {"title": "第三", "url": "http://例子.测试/3", "content": "x" * 2000},
]
TIDY = [
    {"title": "First page & more", "url": "https://a.example/1", "snippet": "About one"},
    {"title": "https://a.example/2", "url": "https://a.example/2", "snippet": ""},
    {"title": "第三", "url": "http://例子.测试/3", "snippet": "x" * 999 + "…"},
]


@pytest.fixture
def searx(web: Site) -> BaseTool:
    web.answers_json("/search", {"query": "q", "results": ROWS})
    return web_search("searxng", url=web.url)


async def test_searxng_is_asked_for_json_and_its_results_are_tidied(web: Site, searx: BaseTool) -> None:
    found = await output(searx, "web_search", {"query": "价格 & 100%?"})
    assert found == {"query": "价格 & 100%?", "results": TIDY}
    (asked,) = web.asked
    assert asked.query == {"q": "价格 & 100%?", "format": "json"}
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("suffix", ["/", "/search", "/search?format=html"])
async def test_the_address_of_an_instance_is_enough(web: Site, searx: BaseTool, suffix: str) -> None:
    tool = web_search("searxng", url=web.url + suffix)
    assert (await output(tool, "web_search", {"query": "q", "max_results": 1}))["results"] == TIDY[:1]


async def test_an_endpoint_of_ones_own_gets_the_key_and_nobody_else_does(web: Site) -> None:
    with site() as other:
        other.answers_json("/", {"web": {"results": [{"name": "B", "link": "https://b.example/"}]}})
        web.redirects("/v1", f"{other.url}/", 307)
        url = f"{web.url}/v1?q={{query}}&count={{max_results}}"
        tool = web_search("json", url=url, key="s3cret-key", key_header="X-Token")
        failed = await failure(tool, "web_search", {"query": "a b", "max_results": 7})
        assert failed.code == "refused_address"  # another site of this network is no part of the endpoint
        assert (web.asked[0].query, web.asked[0].headers["x-token"]) == (
            {"q": "a b", "count": "7"},
            "s3cret-key",
        )
        assert other.asked == []


async def test_a_bearer_token_is_sent_and_shown_nowhere(web: Site) -> None:
    web.answers("/", "no", status=401)
    tool = web_search("json", url=f"{web.url}/?q={{query}}", key="s3cret-key")
    failed = await failure(tool, "web_search", {"query": "q"})
    assert web.asked[0].headers["authorization"] == "Bearer s3cret-key"
    assert (failed.kind, failed.code) == ("hard", "search_refused")
    assert "check the key" in failed.message
    assert "s3cret" not in failed.message + repr(tool)


async def test_a_key_may_have_its_place_in_the_url(web: Site) -> None:
    web.answers_json("/", [])
    tool = web_search("json", url=f"{web.url}/?key={{key}}&q={{query}}", key="a&b")
    assert (await output(tool, "web_search", {"query": "{key}"}))["results"] == []
    assert web.asked[0].query == {"key": "a&b", "q": "{key}"}
    assert "authorization" not in web.asked[0].headers


async def test_an_endpoint_that_has_enough_is_asked_again_later(web: Site) -> None:
    web.answers("/search", "slow down", status=429, Retry_After="12")
    failed = await failure(web_search("searxng", url=web.url), "web_search", {"query": "q"})
    assert (failed.kind, failed.code, failed.retry_after) == ("soft", "http_429", 12)


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        ('{"results": [{"title": "half', "soft", "soft_tool_error"),
        ('{"answer": 42}', "hard", "unexpected_answer"),
        ("[" * 100_000, "soft", "soft_tool_error"),
        ('{"results": [' + "1," * 200_000 + "1]}", "hard", "too_large"),
    ],
)
async def test_an_answer_that_holds_no_results_says_so(web: Site, body: str, kind: str, code: str) -> None:
    web.answers("/search", body, "application/json")
    tool = web_search("searxng", url=web.url, limits=WebLimits(max_bytes=300_000))
    failed = await failure(tool, "web_search", {"query": "q"})
    assert (failed.kind, failed.code) == (kind, code)


@pytest.mark.parametrize("place", ["results", "items", "organic", "data", "hits"])
def test_results_are_found_where_engines_put_them(place: str) -> None:
    assert read_answer(f'{{"meta": 1, "{place}": [1]}}') == [1]
    assert read_answer('{"webPages": {"value": [2]}}') == [2]
    assert read_answer("[3]") == [3]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["results", "url", "title", "content", "web", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(_ANY, st.integers(1, 20))
def test_whatever_an_endpoint_answers_is_results_or_a_plain_failure(answer: Any, most: int) -> None:
    try:
        rows = tidied(read_answer(canonical_json(answer)), most)
    except (HardToolError, SoftToolError):
        return
    assert len(rows) <= most
    assert all(isinstance(row, dict) and set(row) == {"title", "url", "snippet"} for row in rows)


@given(st.text(max_size=30), st.text(max_size=10))
def test_a_query_cannot_change_the_url_around_it(query: str, key: str) -> None:
    url = search_address("http://x.example/?k={key}&q={query}&n={max_results}", query, 3, key)
    assert url.startswith("http://x.example/?k=")
    assert url.endswith("&n=3")
    assert url.count("&") == 2
    assert url.isascii()


@pytest.mark.parametrize(
    ("provider", "given_settings", "why"),
    [
        ("bing", {}, "choose one of ddgs, searxng, json"),
        ("searxng", {}, "needs a url"),
        ("json", {}, "needs a url"),
        ("json", {"url": "https://x.example/"}, "needs {query}"),
        ("searxng", {"url": "ftp://x.example"}, "cannot be used"),
        ("searxng", {"url": "x.example"}, "cannot be used"),
        ("searxng", {"url": "https://u:hunter2@x.example"}, "login"),
        ("searxng", {"url": "https://x.example", "key": "hunter2\nX: y"}, "no header may have"),
        ("searxng", {"url": "https://x.example", "key": "x", "key_header": "a b"}, "no header may have"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_once(
    provider: str, given_settings: dict[str, str], why: str
) -> None:
    with pytest.raises(ToolSetupError) as caught:
        web_search(provider, **given_settings)  # type: ignore[arg-type]
    assert why in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_without_the_library_its_provider_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ddgs" else found(name))
    with pytest.raises(ToolSetupError, match=r"pip install 'planrail\[search\]'"):
        web_search()


class _Loopback(BaseSearchEngine[TextResult]):
    """An engine of the real library, whose pages a loopback site serves."""

    name = "loopback"
    category = "text"
    provider = "loopback"
    search_method = "GET"
    items_xpath = "//li"
    elements_xpath: ClassVar = {"title": ".//a//text()", "href": ".//a/@href", "body": ".//p//text()"}

    def build_payload(
        self, query: str, region: str, safesearch: str, timelimit: str | None, page: int, **kwargs: str
    ) -> dict[str, Any]:
        return {"q": query, "region": region}


@pytest.fixture
def library(web: Site, monkeypatch: pytest.MonkeyPatch) -> BaseTool:
    monkeypatch.setattr(_Loopback, "search_url", f"{web.url}/html", raising=False)
    monkeypatch.setitem(ENGINES["text"], "loopback", _Loopback)
    return web_search("ddgs", engines="loopback", region="cn-zh")


async def test_the_search_library_is_asked_in_its_own_way(web: Site, library: BaseTool) -> None:
    web.answers(
        "/html",
        "<ul><li><a href='https://a.example/'>题目</a><p>内容</p></li></ul>",
        "text/html; charset=utf-8",
    )
    found = await output(library, "web_search", {"query": "题目", "max_results": 3})
    assert found["results"] == [{"title": "题目", "url": "https://a.example/", "snippet": "内容"}]
    assert web.asked[0].query == {"q": "题目", "region": "cn-zh"}


async def test_a_search_that_finds_nothing_is_a_result(web: Site, library: BaseTool) -> None:
    web.answers("/html", "<ul></ul>", "text/html")
    assert (await output(library, "web_search", {"query": "q"}))["results"] == []


async def test_a_search_library_whose_engines_fail_is_asked_again(web: Site, library: BaseTool) -> None:
    dead = web_search("ddgs", engines="loopback", proxy="http://127.0.0.1:9")
    failed = await failure(dead, "web_search", {"query": "q"})
    assert failed.kind == "soft"
    assert "no engine answered" in failed.message


def test_the_policy_and_the_arguments_are_the_same_for_every_provider(
    library: BaseTool, searx: BaseTool
) -> None:
    registered = [ToolRegistry.of(tool)["web_search"] for tool in (library, searx)]
    assert [tool.effect for tool in registered] == ["read", "read"]
    assert registered[0].args_schema["properties"] == registered[1].args_schema["properties"]
    wrong: list[dict[str, JSON]] = [
        {"query": ""},
        {"query": "x" * 401},
        {"query": "q", "max_results": 21},
        {},
    ]
    for args in wrong:
        assert registered[0].args_problems(args) != []


async def test_an_endpoint_that_leads_elsewhere_is_not_followed_inside(web: Site) -> None:
    web.redirects("/search", "http://169.254.169.254/")
    tool = web_search("searxng", url=web.url)
    assert await refusal(tool, "web_search", {"query": "q"}) == "refused_address"
