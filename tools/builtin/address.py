"""Where a web tool may connect to: pure decisions about URLs and addresses, made anew for every hop."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

import httpx2

from tools.errors import HardToolError, ToolSetupError

Address: TypeAlias = IPv4Address | IPv6Address

REFUSED_URL: Final = "refused_url"
REFUSED_ADDRESS: Final = "refused_address"
DEFAULT_PORTS: Final = (80, 443, 8080, 8443)
MAX_URL_CHARS: Final = 4096

_SCHEME_PORTS = {"http": 80, "https": 443}
_NUMERIC_END = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)$")
_NOT_IN_NAMES = frozenset("/*%@?#\\ ")
_LOGIN = re.compile(r"[^/?#]*//[^/?#]*@")
_BACKSLASH = "\\"

_GLOBAL_V6 = ip_network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
# What Python's is_global lets through in some of its versions, or what only a cloud's machines can reach.
_NEVER = tuple(
    ip_network(text)
    for text in (
        "100.64.0.0/10",
        "168.63.129.16/32",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
    )
)


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL leads to: its host in lower case ASCII without a final dot, and its port."""

    url: httpx2.URL
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        """What has to be the same for two URLs to belong to one site."""
        return self.url.scheme, self.host, self.port


@dataclass(frozen=True, slots=True)
class Allowed:
    """One exception: a host by name (`*.` in front: all below it) or a network, and its port or all ports."""

    name: str | None
    network: IPv4Network | IPv6Network | None
    port: int | None

    def covers(self, target: Target, address: Address) -> bool:
        """Tell whether this exception is about a connection to the address for the target."""
        if self.port not in {None, target.port}:
            return False
        if self.network is not None:
            return address in self.network
        wanted = self.name or ""
        return target.host.endswith(wanted[1:]) if wanted.startswith("*.") else target.host == wanted


def read_allowed(text: str) -> Allowed:
    """Read `HOST`, `*.DOMAIN`, `ADDRESS` or `ADDRESS/BITS`, each with `:PORT` or without.

    Raises:
        ToolSetupError: It is none of these.
    """
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(\d+))?", text.strip())
    plain = re.fullmatch(r"([^:\s]+)(?::(\d+))?", text.strip())
    found = bracketed or plain
    host, port = (found[1], found[2]) if found else (text.strip(), None)
    number = None if port is None else int(port)
    try:
        if _looks_like_network(host):
            return Allowed(None, ip_network(host, strict=False), number)
        prefix = "*." if host.startswith("*.") else ""
        bare = host.removeprefix(prefix)
        name = "" if set(bare) & _NOT_IN_NAMES else _host(httpx2.URL(f"http://{bare}/"))
    except (ValueError, httpx2.InvalidURL):
        name, prefix = "", ""
    if not name or number == 0:
        forms = "HOST, HOST:PORT, *.DOMAIN, ADDRESS or ADDRESS/BITS"
        raise ToolSetupError(f"{text!r} cannot be allowed; write {forms}")
    return Allowed(prefix + name, None, number)


def _looks_like_network(host: str) -> bool:
    return ":" in host or bool(re.fullmatch(r"[\d.]+(?:/\d+)?", host))


def read_url(text: str | httpx2.URL) -> Target:
    """Return what a URL leads to.

    Raises:
        HardToolError: "refused_url" for another scheme than http and https, a login in the URL, a host that
            is not plainly written, or what is no URL at all.
    """
    url = _parsed(text)
    if url.scheme not in _SCHEME_PORTS:
        raise HardToolError(
            REFUSED_URL, f"only http:// and https:// can be fetched, not {url.scheme or 'this'!r}"
        )
    if url.userinfo or _LOGIN.match(str(text)) or _BACKSLASH in str(text):
        raise HardToolError(REFUSED_URL, f"a URL with a login or a backslash in it is refused: {url.host!r}")
    host = _host(url)
    if not host or "%" in host:
        raise HardToolError(REFUSED_URL, f"the host {url.host!r} is missing or encoded; write it plainly")
    port = _SCHEME_PORTS[url.scheme] if url.port is None else url.port
    if not 0 < port < 1 << 16:
        raise HardToolError(REFUSED_URL, f"there is no port {port}")
    return Target(url.copy_with(fragment=None), host, port)


def _parsed(text: str | httpx2.URL) -> httpx2.URL:
    if isinstance(text, str) and len(text) > MAX_URL_CHARS:
        raise HardToolError(
            REFUSED_URL, f"a URL may have {MAX_URL_CHARS} characters, and this has {len(text)}"
        )
    try:
        return httpx2.URL(text.strip() if isinstance(text, str) else text)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise HardToolError(REFUSED_URL, f"this is no URL that can be fetched: {error}") from None


def _host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").lower().removesuffix(".")


def written_address(host: str) -> Address | None:
    """Return the address that a host is written as, None for a name.

    Raises:
        HardToolError: "refused_url" for an address in another than its usual form: `0x7f.1`, `2130706433`,
            `0177.0.0.1`. Readers of such forms do not agree about what they mean.
    """
    try:
        return ip_address(host)
    except ValueError:
        if _NUMERIC_END.search(host):
            raise HardToolError(
                REFUSED_URL,
                f"the address {host!r} is written in an unusual form; write four numbers from 0 to 255",
            ) from None
        return None


def refusal(target: Target, address: Address, allow: Sequence[Allowed], ports: Sequence[int]) -> str | None:
    """Return why not to connect to an address for a target, None when it may be.

    Args:
        target: What the URL says.
        address: An address that its host has, or is.
        allow: Exceptions from what follows.
        ports: Ports that may be used; and no address may be used that is not public.
    """
    if any(rule.covers(target, _embedded(address)) for rule in allow):
        return None
    if target.port not in ports:
        return f"port {target.port} is not one of {', '.join(map(str, ports))}"
    kind = not_public(address)
    return kind and f"{target.host} is {kind}"


def not_public(address: Address) -> str | None:
    """Say what kind of address it is that not everybody on the internet can reach, None for a public one."""
    inner = _embedded(address)
    if inner.is_loopback:
        return "this machine's own address"
    if inner.is_link_local:
        return "a link-local address, where clouds keep their machines' secrets"
    special = inner.is_multicast or inner.is_reserved or inner.is_unspecified or not inner.is_global
    unassigned = isinstance(inner, IPv6Address) and inner not in _GLOBAL_V6
    if special or unassigned or any(inner in network for network in _NEVER):
        return "no public address"
    return None


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, or the address itself."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
