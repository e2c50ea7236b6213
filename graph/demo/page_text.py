"""What people read on a web page: its title and its words, without the markup."""

import html
import re
from collections.abc import Iterator
from typing import Final

_NAME = re.compile(r"/?\w*")
_TITLE: Final = "title"
_UNSEEN: Final = frozenset({"script", "style", "noscript", "template", "svg"})
_WITHIN_LINES: Final = frozenset(
    {"a", "abbr", "b", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "small", "span", "strong"}
    | {"sub", "sup", "time", "u", "wbr", "data", "dfn", "ins", "del", "bdi", "bdo", "label", "var", "samp"}
)
"""Tags that end no line; all others do."""


def read_markup(markup: str) -> tuple[str, str]:
    """The title and the text of a page of HTML, a line for each paragraph, in one pass."""
    titles: list[str] = []
    texts: list[str] = []
    for tag, text in _pieces(markup):
        if tag == _TITLE:
            titles.append(text)
        else:
            texts.append(text if tag.strip("/") in _WITHIN_LINES else f"\n{text}")
    # Spaces as the page has them mean nothing, lines end where its tags say.
    lines = (_plain(line) for line in "".join(texts).split("\n"))
    return _plain(" ".join(titles[:1])), "\n".join(line for line in lines if line)


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())


def _pieces(markup: str) -> Iterator[tuple[str, str]]:
    """Each tag's name with the text that follows it; nothing of what nobody sees."""
    first, *pieces = markup.split("<")
    yield "", _one_line(first)
    inside = ""
    for piece in pieces:
        found = _NAME.match(piece)
        name = found[0].casefold() if found else ""
        if inside and name != f"/{inside}":
            continue
        inside = name if name in _UNSEEN else ""
        _, closed, text = piece.partition(">")
        if closed and not inside:
            yield name, _one_line(text)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")
