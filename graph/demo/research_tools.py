"""The tools of the research that are its own: which pages are cited, and which claims they bear out."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

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
_TAG_NAME = re.compile(r"/?\w*")
_UNSEEN = frozenset({"script", "style"})
_MARKDOWN = re.compile(r"([\\`*_\[\]<>])")
_MIN_QUOTE_WORDS = 3
_HEAD_CHARS = 20_000
_LEGEND = (
    "In these notes, what is in quotation marks stands word for word on the page whose number follows. The "
    "rest, and the summary, are a model's words."
)
_QUOTATION_MARK = re.compile('["\u00ab\u00bb\u201c-\u201f\u300c-\u300f]')


Section = Mapping[str, Any]


def research_tools() -> list[Callable[..., Any]]:
    """Both tools."""
    return [cited_pages, confirm_claims]


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
        pages: What `http_get` gave for each; null where that failed.
    """
    texts = {url: page["text"] for url, page in zip(urls, pages, strict=True) if page is not None}
    plain = {url: _plain(text) for url, text in texts.items()}
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
        _source_list(sources, texts),
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
    wanted = _plain(html.escape(quote, quote=False))
    return len(wanted.split()) >= _MIN_QUOTE_WORDS and wanted in page


def _plain(page: str) -> str:
    """A page's words without its tags, one space apart, in small letters."""
    return " ".join(html.unescape(" ".join(_texts(page))).split()).casefold()


def _texts(page: str) -> Iterator[str]:
    """What stands between a page's tags, scripts and styles left out; each character is looked at once."""
    first, *pieces = page.split("<")
    yield first
    inside = ""
    for piece in pieces:
        found = _TAG_NAME.match(piece)
        name = found[0].casefold() if found else ""
        if inside and name != f"/{inside}":
            continue
        inside = name if name in _UNSEEN else ""
        _, closed, text = piece.partition(">")
        if closed and not inside:
            yield text


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


def _source_list(sources: Sequence[str], texts: Mapping[str, str]) -> str:
    named = (f"{_title(texts[url])} <{url}>".strip() for url in sources)
    lines = (f"{at}. {source}" for at, source in enumerate(named, 1))
    return "## Sources\n\n" + "\n".join(lines)


def _title(page: str) -> str:
    _, _, rest = page[:_HEAD_CHARS].partition("<title>")
    title, closed, _ = rest.partition("</title>")
    return _escaped(html.unescape(title)) if closed else ""


def _escaped(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
