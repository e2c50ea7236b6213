"""The tools `read_file`, `write_file` and `list_files`, in one folder and nowhere else."""

import codecs
import contextlib
import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from graph.plan import JSON
from tools.builtin.paths import MAX_LEVELS, workspace_path
from tools.builtin.patterns import matches
from tools.builtin.shapes import FLAG, TEXT, WHOLE, list_of, record
from tools.builtin.workspace import Entry, Workspace
from tools.errors import HardToolError, ToolSetupError
from tools.policy import policy

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """What one call may take.

    Attributes:
        read_chars: Characters of text that `read_file` returns; the rest is cut off visibly.
        read_bytes: Size of a file that `read_file` opens at all.
        write_bytes: Size of a file that `write_file` writes.
        listed: Files that `list_files` returns.
        looked_at: Files that `list_files` holds against a pattern.
    """

    read_chars: int = 2_000_000
    read_bytes: int = 20_000_000
    write_bytes: int = 20_000_000
    listed: int = 1_000
    looked_at: int = 100_000


def file_tools(
    folder: str | Path, *, limits: FileLimits | None = None, encodings: Sequence[str] = ("utf-8",)
) -> list[BaseTool]:
    """Return read_file, write_file and list_files, which reach nothing outside of one folder.

    Args:
        folder: The workspace; made by the first write if it is not there.
        limits: What one call may take.
        encodings: How texts may be encoded, tried in this order, such as ("utf-8", "gb18030"). A file that
            begins with a byte order mark is read as that says. Files are written in UTF-8.

    Raises:
        ToolSetupError: The folder is a file, or Python has no such encoding.
    """
    workspace = Workspace(_checked_root(folder))
    return workspace_tools(workspace, limits or FileLimits(), _checked(encodings))


def workspace_tools(workspace: Workspace, limits: FileLimits, encodings: Sequence[str]) -> list[BaseTool]:
    """Return the three tools on a workspace; see `file_tools`."""
    return [
        _tool(_reader(workspace, limits, encodings), _READ),
        _tool(_writer(workspace, limits), _WRITE),
        _tool(_lister(workspace, limits), _LIST),
    ]


_READ = "Read a text file of the workspace. A text that is cut off says so in its last line."
_WRITE = "Write a text file of the workspace, in place of one that is there; folders on the way are made."
_LIST = (
    "List the files below a folder of the workspace, with size in bytes and time of last change. pattern "
    "chooses by name (*.md) or by path (reports/**/*.csv)."
)
_READS = record(path=TEXT, text=TEXT, chars=WHOLE, truncated=FLAG)
_WRITES = record(path=TEXT, bytes=WHOLE)
_LISTS = record(folder=TEXT, files=list_of(path=TEXT, bytes=WHOLE, modified=TEXT), truncated=FLAG)


def _tool(function: Callable[..., Any], description: str) -> BaseTool:
    return StructuredTool.from_function(function, description=description)


def _reader(workspace: Workspace, limits: FileLimits, encodings: Sequence[str]) -> Callable[..., Any]:
    @policy(effect="read", output_schema=_READS)
    def read_file(
        path: str, max_chars: Annotated[int, Field(ge=1, le=limits.read_chars)] = limits.read_chars
    ) -> dict[str, JSON]:
        names = workspace_path(path)
        shown = "/".join(names)
        text = decoded(workspace.read(names, limits.read_bytes), shown, encodings)
        return {
            "path": shown,
            "text": shortened(text, max_chars),
            "chars": len(text),
            "truncated": len(text) > max_chars,
        }

    return read_file


def _writer(workspace: Workspace, limits: FileLimits) -> Callable[..., Any]:
    @policy(effect="write", idempotent=True, output_schema=_WRITES)
    def write_file(path: str, content: str) -> dict[str, JSON]:
        names = workspace_path(path)
        data = _encoded(content)
        if len(data) > limits.write_bytes:
            raise HardToolError(
                "too_large", f"the content has {len(data)} bytes; at most {limits.write_bytes} can be written"
            )
        workspace.write(names, data)
        return {"path": "/".join(names), "bytes": len(data)}

    return write_file


def _lister(workspace: Workspace, limits: FileLimits) -> Callable[..., Any]:
    @policy(effect="read", output_schema=_LISTS)
    def list_files(folder: str = "", pattern: str | None = None) -> dict[str, JSON]:
        names = workspace_path(folder)
        with contextlib.closing(workspace.entries(names, MAX_LEVELS)) as entries:
            looked_at = list(itertools.islice(entries, limits.looked_at + 1))
        found = [entry for entry in looked_at if not pattern or matches(entry.path, pattern)]
        return {
            "folder": "/".join(names),
            "files": [_row(names, entry) for entry in found[: limits.listed]],
            "truncated": len(found) > limits.listed or len(looked_at) > limits.looked_at,
        }

    return list_files


def _row(folder: tuple[str, ...], entry: Entry) -> JSON:
    changed = dt.datetime.fromtimestamp(entry.modified, dt.UTC).isoformat(timespec="seconds")
    return {"path": "/".join((*folder, *entry.path)), "bytes": entry.size, "modified": changed}


def decoded(content: bytes, shown: str, encodings: Sequence[str]) -> str:
    """Return a file's text.

    Args:
        content: The file's bytes.
        shown: Its path, for the message.
        encodings: Tried in this order where no byte order mark says what it is.

    Raises:
        HardToolError: "not_text".
    """
    marked = (
        ("utf-16",)
        if content.startswith(_UTF16_MARKS)
        else ("utf-8-sig",)
        if content.startswith(codecs.BOM_UTF8)
        else ()
    )
    for encoding in marked or encodings:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if "\0" not in text:
                return text
    tried = " or ".join(marked or encodings)
    raise HardToolError("not_text", f"{shown!r} is no text in {tried}; only texts can be read")


def shortened(text: str, most: int) -> str:
    """Return the text, or its beginning and a line that says how much of it this is."""
    return text if len(text) <= most else f"{text[:most]}\n[truncated {most} of {len(text)} characters]"


def _encoded(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise HardToolError("not_text", "the content holds half a surrogate pair, which is no text") from None


def _checked_root(folder: str | Path) -> Path:
    root = Path(folder).expanduser()
    if not str(folder).strip() or (root.exists() and not root.is_dir()):
        raise ToolSetupError(f"the workspace {str(folder)!r} is no folder; name one, or one that can be made")
    return root.absolute()


def _checked(encodings: Sequence[str]) -> tuple[str, ...]:
    for name in encodings:
        try:
            "".encode(name)
        except LookupError:
            raise ToolSetupError(
                f"there is no text encoding {name!r}; write utf-8, gb18030, cp1252 ..."
            ) from None
    if not encodings:
        raise ToolSetupError("give at least one encoding, such as utf-8")
    return tuple(encodings)
