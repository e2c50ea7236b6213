"""Mail addresses as people and models write them, read strictly: pure."""

import re
import unicodedata
from collections.abc import Sequence
from email.headerregistry import Address

from tools.errors import HardToolError

_WITH_NAME = re.compile(r"(?P<name>[^<>]*)<(?P<mailbox>[^<>]*)>")
_LISTED = re.compile('(?:"[^"]*"|<[^<>]*>|[^,;\uff0c\uff1b\u3001"<>])+')
"""What stands between commas and semicolons, of either width."""

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+|localhost")
_SPECIAL = re.compile(r'[,;:<>@"()\[\]\\]+')
_MAX_LOCAL, _MAX_ADDRESS, _MAX_NAME = 64, 254, 100
_BREAKS = frozenset({"Cc", "Zl", "Zp", "Cs"})
"""Unicode's classes of control characters, line and paragraph separators, and halves of characters."""


def read_address(text: str) -> Address:
    """Return one address, its domain in the ASCII form that mail servers know.

    Args:
        text: `ann@example.com` or `Ann Lee <ann@example.com>`.

    Raises:
        HardToolError: "bad_address", or "header_injection" when a line break or control character is in it.
    """
    plain = one_line(text, "an address")
    named = _WITH_NAME.fullmatch(plain)
    name, mailbox = (named["name"], named["mailbox"].strip()) if named else ("", plain)
    local, at, domain = mailbox.rpartition("@")
    ascii_domain = _ascii(domain)
    fits = len(local) <= _MAX_LOCAL and len(local) + len(ascii_domain) < _MAX_ADDRESS
    if not (at and fits and _LOCAL.fullmatch(local) and _DOMAIN.fullmatch(ascii_domain)):
        shown = plain[:_MAX_ADDRESS]
        raise HardToolError("bad_address", f"{shown!r} is no mail address; write it as ann@example.com")
    return Address(_display(name), local, ascii_domain)


def read_recipients(to: str | Sequence[str], most: int) -> list[Address]:
    """Return everybody named, each once.

    Args:
        to: Addresses, or texts with addresses between commas or semicolons.
        most: How many there may be.

    Raises:
        HardToolError: "bad_address", "header_injection" or "too_many_recipients".
    """
    texts = [to] if isinstance(to, str) else to
    parts = [part.strip() for text in texts for part in _LISTED.findall(one_line(text, "an address"))]
    found: dict[str, Address] = {}
    for address in map(read_address, filter(None, parts)):
        found.setdefault(address.addr_spec.lower(), address)
    if not found:
        raise HardToolError("bad_address", "the mail has no recipient; name at least one address")
    if len(found) > most:
        raise HardToolError(
            "too_many_recipients", f"{len(found)} recipients are more than the {most} allowed"
        )
    return list(found.values())


def one_line(text: str, what: str) -> str:
    """Return the text without space around it.

    Raises:
        HardToolError: "header_injection": a line break or another control character is in it.
    """
    stripped = text.strip()
    if any(unicodedata.category(character) in _BREAKS for character in stripped):
        message = f"{what} holds a line break or a control character, which could forge a header"
        raise HardToolError("header_injection", message)
    return stripped


def _ascii(domain: str) -> str:
    try:
        return domain.encode("idna").decode("ascii")
    except UnicodeError:
        return ""


def _display(name: str) -> str:
    """Return a name without the characters that have a meaning in address lists."""
    return " ".join(_SPECIAL.sub(" ", name).split())[:_MAX_NAME].strip()
