"""Writing to a terminal, a pipe or a file: the same words, coloured only where somebody looks."""

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from graph.cli.streams import results
from graph.plan.columns import aligned

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn"}

_LEAST_ROOM = 20
"""Cells of a folded column: in a terminal narrower than that, words fall apart all the same."""


def visible(text: str) -> str:
    """The text with control, direction and other invisible characters spelt out, newlines and tabs kept.

    What a tool or a model says must not steer the terminal it is shown in.
    """
    return "".join(_spelt(char) if _is_unsafe(char) else char for char in text)


def _is_unsafe(char: str) -> bool:
    return char not in "\n\t" and unicodedata.category(char) in _UNSAFE


def _spelt(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"  # noqa: PLR2004


def short(value: Any, limit: int = 80) -> str:
    """One line of a value: text as it is, anything else as compact JSON, cut to `limit` cells.

    A wide character fills two cells; what fills none counts too, for there may be any number of it.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    line = visible(" ".join(text.splitlines()).strip().replace("\t", " "))
    if max(len(line), cell_len(line)) <= limit:
        return line
    kept = line[: limit - 1]
    return f"{set_cell_size(kept, min(cell_len(kept), limit - 1)).rstrip()}…"


def prepare_streams() -> None:
    """Let no character that a terminal's encoding lacks end a command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def console(*, stderr: bool = False) -> Console:
    file = sys.stderr if stderr else results()
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def write_lines(lines: Iterable[Text | str], *, stderr: bool = False) -> None:
    target = console(stderr=stderr)
    for line in lines:
        target.print(line)


def write_json(document: Any) -> None:
    """One JSON document on stdout, in ASCII where the stream is not UTF-8."""
    stream = results()
    is_utf8 = (stream.encoding or "").lower().replace("-", "").startswith("utf8")
    stream.write(json.dumps(document, ensure_ascii=not is_utf8, indent=2) + "\n")
    stream.flush()


def terminal_width() -> int | None:
    """Cells of a line of the terminal that stdout is; None for a pipe or a file."""
    return console().width if results().isatty() else None


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "", *, width: int | None = None
) -> list[str]:
    """Rows as aligned lines; wide characters count as the two cells that they fill.

    Where `width` is given, a last column that is too long for it goes on below itself.
    """
    every = [header, *rows] if header else list(rows)
    if width is None:
        return [f"{indent}{line}".rstrip() for line in aligned(every)]
    heads = [indent + line[:-1] for line in aligned([[*row[:-1], "|"] for row in every])]
    return [line for head, row in zip(heads, every, strict=True) for line in _folded(head, row[-1], width)]


def _folded(head: str, text: str, width: int) -> Iterator[str]:
    room = max(width - cell_len(head), _LEAST_ROOM)
    pieces = [piece.plain.rstrip() for piece in Text(text).wrap(console(), room)] or [""]
    yield f"{head}{pieces[0]}".rstrip()
    yield from (" " * cell_len(head) + piece for piece in pieces[1:])
