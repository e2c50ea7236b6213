"""Which names a plan may give to files, decided without a disk."""

import ntpath
import posixpath
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools import HardToolError
from tools.builtin.paths import workspace_path
from tools.builtin.patterns import matches

OUT = [
    "..",
    "../x",
    "a/../../x",
    "a/../b",
    "./../x",
    "/etc/passwd",
    "//server/share",
    "\\\\server\\share\\x",
    "..\\x",
    "a\\..\\..\\x",
    "C:\\x",
    "C:/x",
    "c:x",
    "./c:x",
    "\\\\?\\C:\\x",
    "file:///etc/passwd",
    "FILE://host/x",
    "~",
    "~/x",
    "%2e%2e/x",
    "%2E./x",
    "..%2fx",
    "..%5cx",
    "a%2f..%2f..%2fx",
    "%252e%252e%252fx",
    "%2fetc%2fpasswd",
    "a%2fb",
    "%43:/x",
    "x%00.txt",
    "%c0%ae%c0%ae/x",
    "..%c0%afx",
    "%e0%80%ae%e0%80%ae/x",
    ".. /x",
    ". ./x",
    ".../x",
    "....//x",
    "．．/x",
    "‥/x",
    "．．／x",
    "%EF%BC%8E%EF%BC%8E/x",
]
BAD = [
    "a\0b",
    "\n",
    "a\tb",
    "\x7f",
    "\ud800",
    "x" * 256,
    "文" * 86,
    "a/" * 40,
    "x" * 2000,
    "CON",
    "con.txt",
    "a/NUL",
    "nul.tar.gz",
    "Aux ",
    "COM1",
    "com¹.log",
    "LPT9:",
    "conin$",
]
GOOD = [
    "a.txt",
    "报告/第 1 周.md",
    " leading and trailing ",
    "-rf",
    "..hidden",
    ".hidden",
    "a..b",
    "a...",
    "100%.txt",
    "50%20off.txt",
    "a%20b",
    "%",
    "%zz",
    "con\u00adtents.md",
    "contents",
    "console.log",
    "COM10",
    "nullable",
    "auxiliary.txt",
    "~$week.docx",
    "a~",
    'it\'s "fine" & $HOME `x` *?.md',
    "12:30.txt",
    "收入／支出.txt",
    "😀.md",
    "e\u0301.txt",
    "x" * 255,
]


@pytest.mark.parametrize("text", OUT)
def test_what_leads_out_to_any_reader_is_refused(text: str) -> None:
    with pytest.raises(HardToolError) as caught:
        workspace_path(text)
    assert caught.value.code == "outside_workspace"


@pytest.mark.parametrize("text", BAD)
def test_what_no_file_can_be_called_is_refused(text: str) -> None:
    with pytest.raises(HardToolError) as caught:
        workspace_path(text)
    assert caught.value.code == "invalid_path"
    assert caught.value.args[0].isprintable()


@pytest.mark.parametrize("text", GOOD)
def test_odd_good_names_are_taken_as_they_are(text: str) -> None:
    assert workspace_path(text) == (text,) if "/" not in text else tuple(text.split("/"))
    assert workspace_path(f"./folder//{text}/") == ("folder", *text.split("/"))


def test_nothing_names_the_workspace_itself() -> None:
    assert workspace_path("") == workspace_path(".") == workspace_path("./") == ()


_PIECES = st.lists(
    st.sampled_from([*"./\\:%~ a２．‥／", "..", "../", "%2e", "%2f", "%5c", "%25", "%00", "C:", "é", "文"]),
    max_size=12,
).map("".join)


@given(st.one_of(_PIECES, st.text(max_size=40)))
def test_a_path_that_is_taken_stays_inside_for_every_reader(text: str) -> None:
    try:
        names = workspace_path(text)
    except HardToolError:
        return
    joined = "/".join(names)
    assert not posixpath.normpath(posixpath.join("/w", joined) + "/").startswith("/..")
    assert posixpath.commonpath(["/w", posixpath.normpath(f"/w/{joined}")]) == "/w"
    assert ntpath.commonpath(["c:\\w", ntpath.normpath(ntpath.join("c:\\w", joined))]) == "c:\\w"
    assert all(name not in {"", ".", ".."} and "\0" not in name for name in names)


_NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='/\\:%~<>"|?*'), min_size=1)


@given(
    st.lists(_NAME.filter(lambda name: name.isalnum()).map(lambda name: f"x{name}"), min_size=1, max_size=4)
)
def test_names_of_letters_and_digits_are_always_taken(names: list[str]) -> None:
    assert workspace_path("/".join(names)) == tuple(names)
    assert workspace_path("/".join(quote(name) for name in names)) == tuple(quote(name) for name in names)


@pytest.mark.parametrize(
    ("path", "pattern", "fits"),
    [
        ("a.md", "*.md", True),
        ("x/y/a.md", "*.md", True),
        ("x/y/a.md", "x/*.md", False),
        ("x/a.md", "x/*.md", True),
        ("x/y/z/a.md", "x/**/*.md", True),
        ("x/a.md", "x/**/*.md", True),
        ("x/y", "x/**", True),
        ("xa.md", "x/**", False),
        ("报告.md", "报*", True),
        ("A.md", "a.md", False),
        ("a[1].md", "a[[]1].md", True),
        ("[", "[", True),
    ],
)
def test_patterns_work_as_in_a_shell(path: str, pattern: str, fits: bool) -> None:
    assert matches(path.split("/"), pattern) is fits


def test_no_pattern_takes_long() -> None:
    assert not matches(["a" * 250] * 30, "/".join(["**", "*a*a*a*a*a*b"] * 12))
