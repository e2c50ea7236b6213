"""A small web on this machine: pages of several sites, and a search engine over them."""

import html
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from graph.demo.serving import Answer, Asked, note_line, serving

FOLDER: Final = Path(__file__).with_name("library")
SITES: Final = "*.example"
SNIPPET_CHARS: Final = 160

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its"}
    | {"not", "of", "on", "or", "that", "the", "to", "was", "what", "with"}
)
_TITLE_WEIGHT = 2.0


@dataclass(frozen=True)
class Document:
    """One page: its address, its title, and its paragraphs."""

    url: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of its words."""
        return "\n".join((self.title, *self.paragraphs))

    def page(self) -> bytes:
        """The page as its site sends it."""
        body = "".join(f"<p>{html.escape(each, quote=False)}</p>\n" for each in self.paragraphs)
        title = html.escape(self.title, quote=False)
        head = f'<meta charset="utf-8"><title>{title}</title>'
        whole = f"<html><head>{head}</head><body>\n<h1>{title}</h1>\n{body}</body></html>"
        return f"<!doctype html>\n{whole}\n".encode()


@lru_cache(maxsize=1)
def documents() -> tuple[Document, ...]:
    """The shipped documents, whose first line is their address and whose second is their title."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.txt")))


def _read(path: Path) -> Document:
    url, title, *rest = path.read_text("utf-8").splitlines()
    return Document(url, title, tuple(line for line in rest if line.strip()))


def search(query: str, among: Sequence[Document]) -> list[Document]:
    """The documents that share a word with the query, best first: rare words count more, titles double."""
    wanted = words_of(query)
    held = [(document, words_of(document.text), words_of(document.title)) for document in among]
    weights = {word: _rarity(word, [words for _, words, _ in held]) for word in wanted}
    scored = [(_score(weights, words, title), document) for document, words, title in held]
    return [document for score, document in sorted(scored, key=lambda pair: -pair[0]) if score > 0]


def words_of(text: str) -> frozenset[str]:
    """The words of a text that tell something, in lower case, without the plural's s."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(word.removesuffix("s") or word for word in found if word not in _COMMON)


def _rarity(word: str, every: Sequence[frozenset[str]]) -> float:
    holding = sum(word in words for words in every)
    return math.log(1 + len(every) / holding) if holding else 0.0


def _score(weights: Mapping[str, float], words: frozenset[str], title: frozenset[str]) -> float:
    return sum(
        weight * (_TITLE_WEIGHT if word in title else 1.0)
        for word, weight in weights.items()
        if word in words
    )


@contextmanager
def library(log: Path) -> Iterator[str]:
    """Have the web up and note what is asked of it in a file; yields its address.

    The address is that of the search engine, which answers as SearXNG does, and that of the proxy through
    which the sites are reached: their own addresses are the same for every process.
    """
    by_url = {document.url: document for document in documents()}

    def respond(asked: Asked) -> Answer:
        if "q" in asked.query:
            note_line(log, f"search {asked.query['q']}")
            return _results(asked.query["q"])
        url = f"http://{asked.host}{asked.path}"
        note_line(log, f"page {url}")
        found = by_url.get(url)
        return Answer(found.page(), content_type="text/html; charset=utf-8") if found else Answer(b"", 404)

    with serving(respond) as address:
        yield address


def _results(query: str) -> Answer:
    found = [
        {"title": each.title, "url": each.url, "content": each.paragraphs[0][:SNIPPET_CHARS]}
        for each in search(query, documents())
    ]
    return Answer(json.dumps({"query": query, "results": found}).encode())


async def on_this_machine(_host: str, _port: int) -> list[str]:
    """Where the sites are, as a resolver of `tools.builtin.http_get`."""
    return ["127.0.0.1"]
