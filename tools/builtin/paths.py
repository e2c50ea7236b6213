"""Which names a plan may give to files of the workspace: pure, the same on every operating system."""

import os
import re
import unicodedata
from typing import Final
from urllib.parse import unquote

from tools.errors import HardToolError

MAX_PATH_CHARS: Final = 1024
MAX_NAME_BYTES: Final = 255
MAX_LEVELS: Final = 32

OUTSIDE: Final = "outside_workspace"
INVALID: Final = "invalid_path"

_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_DRIVE = re.compile(r".:")  # Windows takes more than letters for drives
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_SEPARATOR = re.compile(r"[/\\]")
_OVERLONG_UTF8 = re.compile("%(?:c[01]%|e0%[89]|f0%8)", re.IGNORECASE)
_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)\d) *(?:[.:].*)?", re.IGNORECASE)
_MOST_DECODINGS = 4
_REMEDY = "name it by its path within the workspace, such as reports/week.md"


def workspace_path(text: str) -> tuple[str, ...]:
    """Return the names along a path within the workspace; () is the workspace itself.

    Names are taken as they are: nothing is decoded, expanded or normalised. What could mean another place
    to any reader of it is refused, on every operating system alike.

    Args:
        text: Names joined by `/`; empty ones and `.` do not count.

    Raises:
        HardToolError: "outside_workspace" for what leads, or tries to lead, out of the workspace;
            "invalid_path" for a name that no file can have.
    """
    if len(text) > MAX_PATH_CHARS:
        raise HardToolError(
            INVALID, f"the path has {len(text)} characters; at most {MAX_PATH_CHARS} are allowed"
        )
    if _CONTROL.search(text):
        raise HardToolError(INVALID, f"{text!r} holds a control character, which no file name may have")
    if _leads_out(text) or _hides_a_way_out(text):
        raise HardToolError(OUTSIDE, f"{text!r} leads out of the workspace; {_REMEDY}")
    names = tuple(name for name in text.split("/") if name not in {"", "."})
    if len(names) > MAX_LEVELS:
        raise HardToolError(INVALID, f"the path has {len(names)} levels; at most {MAX_LEVELS} are allowed")
    for name in names:
        _check_name(name)
    return names


def _leads_out(text: str) -> bool:
    home = text == "~" or text.startswith("~/")
    absolute = text.startswith("/") or "\\" in text or _SCHEME.match(text)
    names = text.split("/")
    return bool(home or absolute or any(map(_DRIVE.match, names)) or any(map(_climbs, names)))


def _climbs(name: str) -> bool:
    """Tell `..`, and what Windows or a careless reader makes `..` of, such as `.. ` and `....`."""
    return set(name) <= {".", " "} and name.count(".") > 1


def _hides_a_way_out(text: str) -> bool:
    """Tell whether the text leads out for somebody who decodes or normalises it, as nobody here does."""
    if _OVERLONG_UTF8.search(text):
        return True
    decoded = _decoded(text)
    if decoded != text and (
        _leads_out(decoded) or _CONTROL.search(decoded) or decoded.count("/") != text.count("/")
    ):
        return True
    return any(map(_climbs, _SEPARATOR.split(unicodedata.normalize("NFKC", decoded))))


def _decoded(text: str) -> str:
    for _ in range(_MOST_DECODINGS):
        once = unquote(text)
        if once == text:
            break
        text = once
    return text


def _check_name(name: str) -> None:
    if len(name.encode()) > MAX_NAME_BYTES:
        raise HardToolError(
            INVALID, f"{name[:40]!r}... is longer than the {MAX_NAME_BYTES} bytes a name may have"
        )
    if _DEVICE.fullmatch(unicodedata.normalize("NFKC", name)):
        raise HardToolError(INVALID, f"{name!r} is the name of a device on Windows; choose another name")
    if os.name == "nt" and (name[-1] in ". " or re.search(r'[<>:"|?*]', name)):
        raise HardToolError(INVALID, f"{name!r} is no name that Windows keeps; choose another name")
