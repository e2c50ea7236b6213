"""Bodies of pages: never more of them than allowed, and in their own encoding."""

import gzip
import tracemalloc

import pytest

from tests.builtin.calling import failure
from tests.builtin.fetching import allowed, code, got
from tests.builtin.site import Site
from tools.builtin import WebLimits


async def test_a_body_without_end_is_cut_off_visibly(web: Site) -> None:
    page = await got(web, "/endless", limits=WebLimits(max_bytes=100_000))
    assert (len(page["text"]), page["truncated"]) == (100_000, True)
    assert web.sent < 20_000_000


async def test_a_body_of_exactly_the_limit_is_whole(web: Site) -> None:
    web.answers("/", "x" * 1000)
    web.packs("/packed", b"x" * 1000)
    for path in ("/", "/packed"):
        page = await got(web, path, limits=WebLimits(max_bytes=1000))
        assert (len(page["text"]), page["truncated"]) == (1000, False)
        cut = await got(web, path, limits=WebLimits(max_bytes=999))
        assert (len(cut["text"]), cut["truncated"]) == (999, True)


async def test_a_packed_body_is_never_unpacked_further_thanallowed(web: Site) -> None:
    web.answers("/bomb", gzip.compress(bytes(100_000_000).replace(b"\0", b"x")), Content_Encoding="gzip")
    tracemalloc.start()
    try:
        page = await got(web, "/bomb", limits=WebLimits(max_bytes=100_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(page["text"]), page["truncated"]) == (100_000, True)
    assert peak < 10_000_000


async def test_packed_bodies_come_in_parts_and_with_padding(web: Site) -> None:
    parts = gzip.compress("你".encode()) + gzip.compress(b"") + gzip.compress(b"b") + b"\0\0\0"
    web.answers("/", parts, Content_Encoding="x-gzip")
    assert (await got(web, "/"))["text"] == "你b"


@pytest.mark.parametrize("packing", ["br", "zstd", "deflate", "gzip, gzip", "nonsense"])
async def test_a_packing_that_was_not_asked_for_is_refused(web: Site, packing: str) -> None:
    web.answers("/", b"whatever", Content_Encoding=packing)
    assert await code(web, "/") == "unknown_encoding"


@pytest.mark.parametrize(
    "body", [b"not gzip at all", gzip.compress(b"x" * 5000)[:-9]], ids=["another form", "cut off"]
)
async def test_a_packed_body_that_came_damaged_is_asked_for_again(web: Site, body: bytes) -> None:
    web.answers("/", body, Content_Encoding="gzip")
    assert (await failure(allowed(web), "http_get", {"url": f"{web.url}/"})).kind == "soft"


async def test_a_body_that_trickles_in_ends_with_the_time(web: Site) -> None:
    tool = allowed(web, limits=WebLimits(seconds=0.5))
    failed = await failure(tool, "http_get", {"url": f"{web.url}/slow"})
    assert (failed.kind, failed.code) == ("soft", "timeout")
    assert "127.0.0.1 did not answer in full within 0.5 s" in failed.message


@pytest.mark.parametrize(
    "content_type", ["image/png", "application/pdf", "application/octet-stream", "video/x"]
)
async def test_what_is_no_text_is_refused(web: Site, content_type: str) -> None:
    web.answers("/", b"\x89PNG\r\n\0", content_type)
    assert await code(web, "/") == "not_text"


async def test_an_untold_type_is_judged_by_the_bytes(web: Site) -> None:
    web.answers("/binary", b"a\0b", "")
    web.answers("/text", "文", "")
    assert await code(web, "/binary") == "not_text"
    assert (await got(web, "/text"))["text"] == "文"


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("application/json", '{"a": "文"}'.encode(), '{"a": "文"}'),
        ("application/ld+json; charset=UTF-8", "文".encode(), "文"),
        ("text/html; charset=GBK", "中文".encode("gbk"), "中文"),
        ("text/html", '<meta charset="gb2312">中文'.encode("gbk"), '<meta charset="gb2312">中文'),
        ("text/html; charset=big5", "中文".encode("big5"), "中文"),
        ("text/xml", '<?xml version="1.0" encoding="Shift_JIS"?>日本'.encode("shift_jis"), None),
        ("text/plain; charset=iso-8859-1", b"\x93caf\xe9\x94", "“café”"),
        ("text/plain; charset=klingon", "é".encode(), "é"),
        ("text/plain; charset=punycode", b"a-", "a-"),
        ("text/plain; charset=zlib", b"a", "a"),
        ("text/plain", "é".encode("utf-16"), "é"),
        ("text/plain", b"\xef\xbb\xbfx", "x"),
        ("text/plain", b"\xff\xfe\xfa", None),
        ("text/plain", b"a\xffb", "a\ufffdb"),
    ],
)
async def test_a_text_is_read_in_its_own_encoding(
    web: Site, content_type: str, body: bytes, text: str | None
) -> None:
    web.answers("/", body, content_type)
    read = (await got(web, "/"))["text"]
    assert read == text if text is not None else isinstance(read, str)


async def test_a_text_is_not_cut_within_a_character(web: Site) -> None:
    web.answers("/", "文字", "text/plain; charset=utf-8")
    assert (await got(web, "/", limits=WebLimits(max_bytes=5)))["text"] == "文"
