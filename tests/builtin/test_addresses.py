"""Where a web tool may connect to, decided without a network."""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import HardToolError, ToolSetupError
from tools.builtin.address import not_public, read_allowed, read_url
from tools.builtin.fetch import WebRules, checked_addresses

REFUSED = [
    "http://127.0.0.1/",
    "http://127.1.2.3:8080/",
    "http://127.0.0.1./",
    "http://localhost/",
    "http://localhost./",
    "http://LOCALHOST/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://0/",
    "http://0.0.0.0/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://127%2e0.0.1/",
    "http://ⓛocalhost/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://user@127.0.0.1/",
    "http://user:word@example.com/",
    "http://:@example.com/",
    "http://@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://example.com:22/",
    "http://example.com:0/",
    "https://example.com:25/",
    "http://example.com:99999/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "//example.com/",
    "example.com",
    "http:///x",
    "http://",
    "",
    "http://a b/",
    "http://exa\nmple.com/",
    "http://example.com/" + "x" * 5000,
]


async def _names(host: str, _port: int) -> list[str]:
    """Look up as the C library does, which takes every form of a number, and only knows public hosts."""
    if host == "localhost":
        return ["127.0.0.1"]
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        return ["93.184.216.34"]


def _checked(url: str, *allow: str) -> list[str]:
    rules = WebRules(tuple(map(read_allowed, allow)), resolve=_names)
    checking = checked_addresses(read_url(url), rules)
    try:
        checking.send(None)  # nothing in it waits, and a loop for each of many examples takes its time
    except StopIteration as done:
        return [str(address) for address in done.value]
    raise AssertionError("the look-up waited")


def _refuses(url: str, *allow: str) -> bool:
    try:
        _checked(url, *allow)
    except HardToolError as error:
        return error.code in {"refused_url", "refused_address"}
    return False


@pytest.mark.parametrize("url", REFUSED)
def test_what_does_not_lead_to_a_public_site_is_refused(url: str) -> None:
    assert _refuses(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "HTTPS://EXAMPLE.com:443/a?q=中文#part",
        "https://例子.测试/路径",
        "http://93.184.216.34:8080/",
        "http://x.0x.example/",
        "http://1.example/",
        "http://a_b.example/",
    ],
)
def test_public_sites_are_let_through(url: str) -> None:
    assert _checked(url) == ["93.184.216.34"]


def test_a_public_address_of_the_newer_kind_is_let_through() -> None:
    assert _checked("http://[2606:2800:220:1:248:1893:25c8:1946]/")
    assert _checked("http://[64:ff9b::5db8:d822]/")


_SPECIAL = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
]
SPECIAL = [ip_network(text) for text in _SPECIAL]
IN_SPECIAL = st.sampled_from(SPECIAL).flatmap(
    lambda network: st.integers(int(network[0]), int(network[-1])).map(IPv4Address)
)


def _parts(address: IPv4Address) -> list[int]:
    return list(address.packed)


FORMS: list[Callable[[IPv4Address], str]] = [
    str,
    lambda address: str(int(address)),
    lambda address: hex(int(address)),
    lambda address: f"0{int(address):o}",
    lambda address: ".".join(map(hex, _parts(address))),
    lambda address: ".".join(f"0{part:o}" for part in _parts(address)),
    lambda address: f"{_parts(address)[0]}.{int(address) & 0xFFFFFF}",
    lambda address: f"{_parts(address)[0]}.{_parts(address)[1]}.{int(address) & 0xFFFF}",
    lambda address: f"{address}.",
    lambda address: str(address).replace(".", "。"),
    lambda address: f"[::ffff:{address}]",
    lambda address: f"[::{address}]",
    lambda address: f"[64:ff9b::{address}]",
    lambda address: f"[{IPv6Address((0x2002 << 112) | int(address) << 80)}]",
]


@given(IN_SPECIAL, st.sampled_from(FORMS), st.sampled_from(["http", "https"]))
def test_a_special_address_is_refused_however_it_is_written(
    address: IPv4Address, form: Callable[[IPv4Address], str], scheme: str
) -> None:
    assert _refuses(f"{scheme}://{form(address)}/")


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_address_is_public_exactly_when_no_registry_says_otherwise(address: IPv4Address) -> None:
    assert (not_public(address) is None) is not any(address in network for network in SPECIAL)


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_addresses_outside_of_the_global_range_are_refused(address: IPv6Address) -> None:
    if address not in ip_network("2000::/3") and address not in ip_network("64:ff9b::/96"):
        assert not_public(address) is not None


@given(st.text(max_size=60) | st.text(alphabet="http:/@[]%.0127x\\?#\t", max_size=30).map("http://{}".format))
def test_any_text_is_either_refused_or_leads_to_checked_addresses(url: str) -> None:
    if not _refuses(url):
        assert all(not_public(ip_address(address)) is None for address in _checked(url))


def test_a_name_that_also_leads_inside_is_refused() -> None:
    async def both(_host: str, _port: int) -> list[str]:
        return ["93.184.216.34", "127.0.0.1"]

    with pytest.raises(HardToolError, match="this machine's own address"):
        asyncio.run(checked_addresses(read_url("http://example.com/"), WebRules(resolve=both)))


@pytest.mark.parametrize(
    ("rule", "url", "allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:5000/", True),
        ("127.0.0.1:5000", "http://127.0.0.1:5000/", True),
        ("127.0.0.1:5000", "http://127.0.0.1:5001/", False),
        ("127.0.0.1:80", "http://127.0.0.1/", True),
        ("127.0.0.1", "http://localhost/", True),
        ("localhost", "http://localhost:9/", True),
        ("localhost", "http://127.0.0.1/", False),
        ("LocalHost.", "http://localhost/", True),
        ("10.0.0.0/8", "http://10.1.2.3:99/", True),
        ("10.0.0.0/8:99", "http://10.1.2.3:98/", False),
        ("[::1]:5000", "http://[::1]:5000/", True),
        ("::1", "http://[::1]:5000/", True),
        ("fd00::/8", "http://[fd12::1]/", True),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", True),
        ("*.intern.example:22", "http://a.intern.example:22/", True),
        ("*.intern.example", "http://intern.example:22/", False),
        ("例子.测试", "http://xn--fsqu00a.xn--0zwm56d:22/", True),
        ("example.com", "http://evil-example.com:22/", False),
        ("127.0.0.1", "http://0x7f.1/", False),
    ],
)
def test_an_exception_covers_what_it_says_and_no_more(rule: str, url: str, allowed: bool) -> None:
    assert _refuses(url, rule) is not allowed


@pytest.mark.parametrize(
    "rule", ["", "http://x", "x/y", "*", "a*b", "10.0.0.0/99", "1.2.3", "x:0", "x y", "%31"]
)
def test_an_exception_that_cannot_be_read_is_refused_at_once(rule: str) -> None:
    with pytest.raises(ToolSetupError, match="cannot be allowed"):
        read_allowed(rule)


def test_a_refusal_does_not_repeat_a_login() -> None:
    with pytest.raises(HardToolError) as caught:
        read_url("http://ada:hunter2@example.com/")
    assert "hunter2" not in str(caught.value)
