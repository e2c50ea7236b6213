"""Pages and searches on loopback, in plans: what a service asks for is heeded, what it hides is cut off."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from graph.build import build_graph
from tests.acceptance.support import given, outputs, plan, statuses, step
from tests.acceptance4.support import code, each, inner
from tests.builtin.site import Site, site
from tools.builtin import WebLimits, http_get, web_search

KEY = "secret-search-key"


@pytest.fixture
def web() -> Iterator[Site]:
    with site() as running:
        yield running


def port_of(web: Site) -> int:
    return int(web.url.rstrip("/").rpartition(":")[2])


def fetcher(web: Site, **more: Any) -> Any:
    port = port_of(web)
    return http_get(allow=[f"127.0.0.1:{port}"], ports=(port,), **more)


def test_an_allowed_page_is_fetched_and_cut_where_it_is_too_long(web: Site) -> None:
    web.answers("/page", "价格 12")
    web.answers("/long", "x" * 50_000)
    base = web.url.rstrip("/")
    value = plan(each("m", [f"{base}/page", f"{base}/long"], inner("http_get", {"url": "${item}"})))

    result = build_graph(tools=[fetcher(web, limits=WebLimits(max_bytes=10_000))]).invoke(given(value))

    page, long = outputs(result)["m"]["results"]
    assert page["text"] == "价格 12"
    assert page["truncated"] is False
    assert len(long["text"]) <= 10_000
    assert long["truncated"] is True


def test_what_is_not_there_is_hard_and_falls_back(web: Site) -> None:
    web.answers("/spare", "spare")
    base = web.url.rstrip("/")
    web.answers("/gone", "gone", status=404)
    value = plan(
        step(
            "a",
            "http_get",
            {"url": f"{base}/gone"},
            fallback={"tool": "http_get", "args": {"url": f"{base}/spare"}},
        )
    )

    result = build_graph(tools=[fetcher(web)]).invoke(given(value))

    assert outputs(result)["a"]["text"] == "spare"
    assert [asked.path for asked in web.asked].count("/gone") == 1


def test_a_redirect_to_an_address_that_is_not_allowed_is_refused(web: Site) -> None:
    web.redirects("/start", "http://169.254.169.254/latest/meta-data/")
    value = plan(step("a", "http_get", {"url": f"{web.url.rstrip('/')}/start"}))

    result = build_graph(tools=[fetcher(web)], settings={"max_replans": 0}).invoke(given(value))

    assert statuses(result)["a"] == "failed"
    assert code(result, "a") == "refused_address"


def test_a_search_gives_plain_results_and_keeps_its_key(web: Site) -> None:
    found = {
        "results": [{"title": "<b>Bikes</b>", "url": "https://example.com/1", "content": "Cargo &amp; more"}]
    }
    web.answers_json("/search", found)
    search = web_search("searxng", url=web.url.rstrip("/"), key=KEY)
    value = plan(each("m", ["bikes", "货运自行车"], inner("web_search", {"query": "${item}"})))

    result = build_graph(tools=[search]).invoke(given(value))

    assert result["status"] == "succeeded", result["reason"]
    first = outputs(result)["m"]["results"][0]
    assert first["results"] == [{"title": "Bikes", "url": "https://example.com/1", "snippet": "Cargo & more"}]
    assert KEY not in json.dumps(result, ensure_ascii=False)
    assert all(KEY in str(asked.headers) for asked in web.asked)
