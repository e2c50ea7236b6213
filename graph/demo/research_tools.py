"""The tools of the research that are its own: reading pages, and holding what is claimed against them."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from graph.demo.page_text import read_markup
from graph.plan import JSON
from tools import HardToolError, policy

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_URLS: Final = {"type": "array", "items": _TEXT}
_CONFIRMED: Final = {
    "type": "object",
    "properties": {"markdown": _TEXT, "facts": _WHOLE, "left_out": _WHOLE, "sources": _URLS},
    "required": ["markdown", "facts", "left_out", "sources"],
}
_PAGE: Final = {
    "type": "object",
    "properties": {"url": _TEXT, "title": _TEXT, "text": _TEXT, "truncated": {"type": "boolean"}},
    "required": ["url", "title", "text", "truncated"],
}
_KEPT_SECONDS = 3600.0
_SECONDS = 30.0
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")
_MIN_QUOTE_CHARS = 8
_LEGEND = (
    "In these notes, what is in quotation marks stands word for word on the page whose number follows. The "
    "rest, and the summary, are a model's words."
)
_QUOTATION_MARK = re.compile('["\u00ab\u00bb\u201c-\u201f\u300c-\u300f]')


Section = Mapping[str, Any]


Get = Callable[..., Awaitable[dict[str, Any]]]


def research_tools(get: Get) -> list[Callable[..., Any]]:
    """The three tools; `get` fetches a page as `http_get` does."""
    return [_read_page(get), cited_pages, confirm_claims]


def _read_page(get: Get) -> Callable[..., Any]:
    # A model reads pages that were found, and carries nothing out in an address that it makes up. What it
    # has read is kept: the same page need not be fetched again to be held against what it claims.
    @policy(
        effect="read",
        timeout=_SECONDS,
        cache_ttl=_KEPT_SECONDS,
        grounded=frozenset({"url"}),
        output_schema=_PAGE,
    )
    async def read_page(url: str) -> dict[str, JSON]:
        """Read a page that a search has found: its title and its text."""
        page = await get(url=url)
        is_markup = "html" in page["content_type"].lower() or page["text"].lstrip().startswith("<")
        title, text = read_markup(page["text"]) if is_markup else ("", page["text"])
        return {"url": url, "title": title, "text": text, "truncated": page["truncated"]}

    return read_page


@policy(effect="read", output_schema=_URLS)
def cited_pages(sections: list[dict[str, Any] | None], found: list[dict[str, Any] | None]) -> list[str]:
    """The pages that the sections cite, each once, out of those that the searches found.

    Args:
        sections: `{"claims": [{"text", "quote", "url"}]}` each; null where one failed.
        found: What `web_search` gave, each.
    """
    known = {row["url"] for each in found if each for row in each["results"]}
    cited = (claim["url"] for section in sections if section for claim in section["claims"])
    return list(dict.fromkeys(url for url in cited if url in known))


@policy(effect="read", output_schema=_CONFIRMED)
def confirm_claims(
    headings: list[str],
    sections: list[dict[str, Any] | None],
    urls: list[str],
    pages: list[dict[str, Any] | None],
) -> dict[str, JSON]:
    """The claims whose quotes stand on the pages that they name, as the body of a report with its sources.

    Args:
        headings: Of the sections.
        sections: What was written for each, in the same order; null where that failed.
        urls: The pages that were fetched.
        pages: What `read_page` gave for each; null where that failed.
    """
    read = {url: page for url, page in zip(urls, pages, strict=True) if page is not None}
    plain = {url: _plain(page["text"]) for url, page in read.items()}
    kept = [_borne_out(section, plain) for section in sections]
    claimed = sum(len(section["claims"]) for section in sections if section)
    facts = sum(map(len, kept))
    if not facts:
        raise HardToolError("nothing_found", f"no page bears out any of {claimed} claims: nothing to report")
    sources = list(dict.fromkeys(claim["url"] for claims in kept for claim in claims))
    blocks = [
        _LEGEND,
        *(_section(*each, sources) for each in zip(headings, sections, kept, strict=True)),
        *_left_out(claimed - facts),
        _source_list(sources, read),
    ]
    return {
        "markdown": "\n\n".join(blocks) + "\n",
        "facts": facts,
        "left_out": claimed - facts,
        "sources": list[JSON](sources),
    }


def _borne_out(section: Section | None, plain: Mapping[str, str]) -> list[Mapping[str, str]]:
    claims = section["claims"] if section else []
    return [claim for claim in claims if _stands_in(claim["quote"], plain.get(claim["url"], ""))]


def _stands_in(quote: str, page: str) -> bool:
    wanted = _plain(quote)
    return len(wanted) >= _MIN_QUOTE_CHARS and wanted in page


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _section(
    heading: str, section: Section | None, claims: Sequence[Mapping[str, str]], sources: Sequence[str]
) -> str:
    if not claims:
        why = "This section could not be written." if section is None else "Nothing was found on this."
        return f"## {_escaped(heading)}\n\n{why}"
    return f"## {_escaped(heading)}\n\n" + "\n".join(_line(claim, sources) for claim in claims)


def _line(claim: Mapping[str, str], sources: Sequence[str]) -> str:
    text, quote = _escaped(claim["text"]), _escaped(claim["quote"])
    own = _QUOTATION_MARK.sub("'", text)
    said = f'"{quote}"' if text == quote else f'{own} "{quote}"'
    return f"- {said} [{sources.index(claim['url']) + 1}]"


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"Left out, for no page bears them out: {count} claim(s)."


def _source_list(sources: Sequence[str], read: Mapping[str, Mapping[str, Any]]) -> str:
    named = (f"{_escaped(read[url]['title'])} <{url}>".strip() for url in sources)
    lines = (f"{at}. {source}" for at, source in enumerate(named, 1))
    return "## Sources\n\n" + "\n".join(lines)


def _escaped(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
