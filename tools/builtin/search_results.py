"""What search engines answer, in one form: pure, whichever engine it was."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from graph.plan import JSON
from tools.errors import HardToolError, SoftToolError

MAX_TITLE_CHARS: Final = 300
MAX_SNIPPET_CHARS: Final = 1_000

_LISTS = (
    ("results",),
    ("web", "results"),
    ("organic_results",),
    ("organic",),
    ("items",),
    ("webPages", "value"),
    ("data",),
    ("hits",),
)
_TITLES = ("title", "name")
_URLS = ("url", "link", "href")
_SNIPPETS = ("snippet", "content", "description", "body", "text")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def search_address(template: str, query: str, count: int, key: str | None) -> str:
    """Return the URL that asks a query, with each value written as a URL wants it.

    Args:
        template: A URL with `{query}` and, as wanted, `{max_results}` and `{key}` in it.
        query: What is searched for.
        count: Results that are wanted.
        key: The endpoint's key.
    """
    values = {"query": query, "max_results": str(count), "key": key or ""}
    return re.sub(r"\{(query|max_results|key)\}", lambda found: quote(values[found[1]], safe=""), template)


def read_answer(text: str) -> list[Any]:
    """Return the list of results in an endpoint's JSON, in whichever place it is.

    Raises:
        SoftToolError: It is half an answer, or no JSON.
        HardToolError: "unexpected_answer" when there is no such list.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise SoftToolError("the search endpoint's answer is incomplete or no JSON") from None
    if isinstance(answer, list):
        return answer
    for path in _LISTS:
        found = answer
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, list):
            return found
    raise HardToolError("unexpected_answer", "the search endpoint's JSON holds no list of results")


def tidied(rows: Iterable[Any], most: int) -> list[JSON]:
    """Return at most so many results as `{"title", "url", "snippet"}` in plain text, each address once."""
    found: dict[str, JSON] = {}
    for row in _objects(rows):
        url = _first(row, _URLS).strip()
        if url.lower().startswith(("http://", "https://")) and url not in found:
            title = _plain(_first(row, _TITLES), MAX_TITLE_CHARS)
            found[url] = {
                "title": title or url,
                "url": url,
                "snippet": _plain(_first(row, _SNIPPETS), MAX_SNIPPET_CHARS),
            }
    return list(found.values())[:most]


def _objects(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    return (row for row in rows if isinstance(row, Mapping))


def _first(row: Mapping[str, Any], names: Iterable[str]) -> str:
    texts = (row.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _plain(text: str, most: int) -> str:
    plain = " ".join(html.unescape(_TAG.sub("", text)).split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
