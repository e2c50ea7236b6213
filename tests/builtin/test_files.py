"""Files of one folder, and no way out of it."""

import asyncio
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import BaseTool

from graph.plan import Risk
from tests.builtin.calling import output, refusal
from tools import HardToolError, ToolRegistry, ToolSetupError
from tools.builtin import FileLimits, file_tools
from tools.builtin.files import workspace_tools
from tools.builtin.folder import Folder
from tools.builtin.workspace import Workspace

LINKS = pytest.mark.skipif(os.name == "nt", reason="making a link needs a privilege on Windows")


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("outside", encoding="utf-8")
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture(params=[True, False], ids=["by descriptor", "by path"])
def tools(request: pytest.FixtureRequest, root: Path) -> list[BaseTool]:
    """The three tools in both ways to walk; the second is what Windows has."""
    if request.param and os.name == "nt":
        pytest.skip("Windows has no dir_fd")
    limits = FileLimits(read_chars=100, read_bytes=1000, write_bytes=1000, listed=5)
    return workspace_tools(Workspace(root, by_descriptor=request.param), limits, ("utf-8",))


@pytest.mark.parametrize(
    "path", ["a.txt", "报告/第 1 周.md", "-rf", "..hidden", "a%20b", "100%.txt", "con\u00adtents", " x "]
)
async def test_what_is_written_is_read_and_listed(tools: list[BaseTool], root: Path, path: str) -> None:
    written = await output(tools, "write_file", {"path": path, "content": "内容\r\n"})
    assert written == {"path": path, "bytes": 8}
    assert (root / path).read_bytes() == "内容\r\n".encode()
    read = await output(tools, "read_file", {"path": path})
    assert read == {"path": path, "text": "内容\r\n", "chars": 4, "truncated": False}
    listed = await output(tools, "list_files", {})
    assert [(each["path"], each["bytes"]) for each in listed["files"]] == [(path, 8)]


@pytest.mark.parametrize(
    "path", ["../secret.txt", "a/../../secret.txt", "%2e%2e/secret.txt", "..\\secret.txt"]
)
@pytest.mark.parametrize("name", ["read_file", "write_file", "list_files"])
async def test_no_path_leads_out(tools: list[BaseTool], root: Path, name: str, path: str) -> None:
    args = {"folder": path} if name == "list_files" else {"path": path}
    more = {"content": "x"} if name == "write_file" else {}
    assert await refusal(tools, name, {**args, **more}) == "outside_workspace"
    assert (root.parent / "secret.txt").read_text("utf-8") == "outside"


_TRICKS = st.lists(
    st.sampled_from(
        [*"./\\:%~ a文", "..", "../", "%2e", "%2f", "link", "link/", "\u202e", "\ufeff", "NUL", "\udc80"]
    ),
    max_size=10,
).map("".join)


@LINKS
@given(path=_TRICKS | st.text(max_size=20), by_descriptor=st.booleans())
def test_whatever_a_path_is_a_write_lands_inside_or_nowhere(
    tmp_path_factory: pytest.TempPathFactory, path: str, by_descriptor: bool
) -> None:
    outer = tmp_path_factory.mktemp("outer")
    root = outer / "workspace"
    root.mkdir()
    (root / "link").symlink_to(outer)
    limits = FileLimits()
    read, write, _ = workspace_tools(Workspace(root, by_descriptor=by_descriptor), limits, ("utf-8",))
    try:
        written = write.invoke({"path": path, "content": "x"})
    except (HardToolError, OSError):
        assert not any(each.is_file() for each in root.rglob("*"))
    else:
        assert read.invoke({"path": written["path"]})["text"] == "x"
        (found,) = [each for each in root.rglob("*") if each.is_file()]
        assert found.resolve().is_relative_to(root.resolve())
    assert _names(outer) == ["workspace"]


async def test_an_absolute_path_is_refused_even_into_the_workspace(tools: list[BaseTool], root: Path) -> None:
    (root / "a.txt").write_text("x", encoding="utf-8")
    assert await refusal(tools, "read_file", {"path": str(root / "a.txt")}) == "outside_workspace"


@LINKS
async def test_links_are_not_followed_wherever_they_stand(tools: list[BaseTool], root: Path) -> None:
    (root / "file").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent, target_is_directory=True)
    (root / "gone").symlink_to(root.parent / "new.txt")
    for path in ("file", "up/secret.txt", "gone"):
        assert await refusal(tools, "read_file", {"path": path}) == "outside_workspace"
        assert await refusal(tools, "write_file", {"path": path, "content": "x"}) == "outside_workspace"
    assert await refusal(tools, "list_files", {"folder": "up"}) == "outside_workspace"
    assert (await output(tools, "list_files", {}))["files"] == []
    assert (root.parent / "secret.txt").read_text("utf-8") == "outside"
    assert not (root.parent / "new.txt").exists()


def _swapped_after_the_look(monkeypatch: pytest.MonkeyPatch, place: Path, target: Path) -> None:
    """Put a link in a place right after it was looked at and found to be none."""
    mode: Callable[..., Any] = Folder.mode

    def mode_and_swap(folder: Folder, name: str) -> int | None:
        found: int | None = mode(folder, name)
        if name == place.name and not place.is_symlink():
            place.rename(place.with_name("moved"))
            place.symlink_to(target)
        return found

    monkeypatch.setattr(Folder, "mode", mode_and_swap)


@LINKS
@pytest.mark.parametrize("name", ["folder", "file"])
def test_a_link_made_after_the_look_changes_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (root / "folder").mkdir()
    (root / "folder" / "secret.txt").write_text("inside", encoding="utf-8")
    (root / "file").write_text("inside", encoding="utf-8")
    outside = root.parent if name == "folder" else root.parent / "secret.txt"
    _swapped_after_the_look(monkeypatch, root / name, outside)
    names = ("folder", "secret.txt") if name == "folder" else ("file",)
    with pytest.raises(HardToolError, match="link"):
        Workspace(root).read(names, 100)


@LINKS
def test_a_file_written_while_its_folder_becomes_a_link_stays_inside(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "folder").mkdir()
    token = secrets.token_hex

    def token_and_swap(size: int) -> str:
        (root / "folder").rename(root / "moved")
        (root / "folder").symlink_to(root.parent)
        return token(size)

    monkeypatch.setattr(secrets, "token_hex", token_and_swap)
    Workspace(root).write(("folder", "new.txt"), b"x")
    assert (root / "moved" / "new.txt").read_bytes() == b"x"
    assert not (root.parent / "new.txt").exists()


async def test_each_way_to_be_no_text_file_has_its_own_code(tools: list[BaseTool], root: Path) -> None:
    (root / "folder").mkdir()
    (root / "big.txt").write_bytes(b"x" * 1001)
    (root / "latin.txt").write_bytes("é".encode("latin-1"))
    (root / "image.txt").write_bytes(b"a\0b")
    codes = {
        path: await refusal(tools, "read_file", {"path": path})
        for path in (
            "nothing",
            "no/thing",
            "folder",
            "",
            "big.txt",
            "latin.txt",
            "image.txt",
            "big.txt/x",
            "a\0b",
        )
    }
    assert codes == {
        "nothing": "not_found",
        "no/thing": "not_found",
        "folder": "is_a_folder",
        "": "is_a_folder",
        "big.txt": "too_large",
        "latin.txt": "not_text",
        "image.txt": "not_text",
        "big.txt/x": "not_a_folder",
        "a\0b": "invalid_path",
    }


async def test_each_way_not_to_be_writable_has_its_own_code(tools: list[BaseTool], root: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("x", encoding="utf-8")
    wrong = {"folder": "is_a_folder", ".": "is_a_folder", "file/x": "not_a_folder", "con.txt": "invalid_path"}
    codes = {path: await refusal(tools, "write_file", {"path": path, "content": "x"}) for path in wrong}
    assert codes == wrong
    assert await refusal(tools, "write_file", {"path": "b", "content": "文" * 334}) == "too_large"
    assert await refusal(tools, "list_files", {"folder": "nothing"}) == "not_found"
    assert await refusal(tools, "list_files", {"folder": "file"}) == "not_a_folder"
    assert _names(root) == ["file", "folder"]


@LINKS
async def test_a_pipe_is_refused_without_waiting_for_its_writer(tools: list[BaseTool], root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert await refusal(tools, "read_file", {"path": "pipe"}) == "not_a_file"
    assert await refusal(tools, "write_file", {"path": "pipe", "content": "x"}) == "not_a_file"


async def test_a_long_text_says_how_much_of_it_is_shown(tools: list[BaseTool], root: Path) -> None:
    (root / "long.txt").write_text("文" * 150, encoding="utf-8")
    read = await output(tools, "read_file", {"path": "long.txt"})
    assert read["text"] == "文" * 100 + "\n[truncated 100 of 150 characters]"
    assert (read["chars"], read["truncated"]) == (150, True)
    short = await output(tools, "read_file", {"path": "long.txt", "max_chars": 2})
    assert short["text"] == "文文\n[truncated 2 of 150 characters]"


async def test_the_same_content_twice_is_one_effect(tools: list[BaseTool], root: Path) -> None:
    first = await output(tools, "write_file", {"path": "a/b.md", "content": "x"})
    before = (root / "a" / "b.md").stat()
    assert await output(tools, "write_file", {"path": "a/b.md", "content": "x"}) == first
    after = (root / "a" / "b.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_another_content_replaces_the_file_and_keeps_its_mode(
    tools: list[BaseTool], root: Path
) -> None:
    script = root / "run.sh"
    script.write_text("old", encoding="utf-8")
    script.chmod(0o750)
    await output(tools, "write_file", {"path": "run.sh", "content": "new"})
    assert script.read_text("utf-8") == "new"
    assert os.name == "nt" or stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_text("old", encoding="utf-8")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        Workspace(root).write(("a.txt",), b"new")
    assert _names(root) == ["a.txt"]
    assert (root / "a.txt").read_text("utf-8") == "old"


async def test_readers_never_see_half_a_file(tools: list[BaseTool], root: Path) -> None:
    contents = ["a" * 900, "b" * 700]

    async def write(content: str) -> None:
        for _ in range(10):
            await output(tools, "write_file", {"path": "x", "content": content})

    async def read() -> None:
        for _ in range(20):
            assert (root / "x").read_text("utf-8") in contents
            await asyncio.sleep(0)

    await output(tools, "write_file", {"path": "x", "content": contents[0]})
    await asyncio.gather(*map(write, contents), read())
    assert _names(root) == ["x"]


async def test_a_list_is_sorted_chosen_by_pattern_and_capped(tools: list[BaseTool], root: Path) -> None:
    for path in ("b.md", "a/2.md", "a/1.csv", "a/deep/3.md"):
        await output(tools, "write_file", {"path": path, "content": path})
    (root / ".planrail-part-left").write_text("half", encoding="utf-8")

    async def paths(**args: Any) -> list[str]:
        return [each["path"] for each in (await output(tools, "list_files", args))["files"]]

    assert await paths() == ["a/1.csv", "a/2.md", "a/deep/3.md", "b.md"]
    assert await paths(pattern="*.md") == ["a/2.md", "a/deep/3.md", "b.md"]
    assert await paths(folder="a", pattern="*.md") == ["a/2.md", "a/deep/3.md"]
    assert await paths(folder="a/", pattern="deep/*") == ["a/deep/3.md"]
    for number in range(3):
        await output(tools, "write_file", {"path": f"c{number}", "content": ""})
    listed = await output(tools, "list_files", {})
    assert (len(listed["files"]), listed["truncated"]) == (5, True)


async def test_a_workspace_is_made_by_its_first_write(tmp_path: Path) -> None:
    tools = file_tools(tmp_path / "new" / "workspace")
    assert (await output(tools, "list_files", {}))["files"] == []
    assert await refusal(tools, "read_file", {"path": "a"}) == "not_found"
    assert not (tmp_path / "new").exists()
    await output(tools, "write_file", {"path": "a", "content": "x"})
    assert (tmp_path / "new" / "workspace" / "a").read_text("utf-8") == "x"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
async def test_texts_of_other_encodings_are_read(root: Path, encoding: str) -> None:
    (root / "a.csv").write_bytes("编号,金额".encode(encoding))
    tools = file_tools(root, encodings=("utf-8", "gb18030"))
    assert (await output(tools, "read_file", {"path": "a.csv"}))["text"] == "编号,金额"


def test_the_policies_say_what_the_tools_do(root: Path) -> None:
    registry = ToolRegistry.of(*file_tools(root))
    assert [registry[name].effect for name in ("read_file", "list_files")] == ["read", "read"]
    write = registry["write_file"]
    assert (write.effect, write.policy.idempotent, write.risk) == ("write", True, Risk.MEDIUM)
    assert registry["read_file"].args_problems({"path": "a", "max_chars": 0}) != []


def test_a_workspace_that_cannot_be_one_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for folder in (tmp_path / "file", ""):
        with pytest.raises(ToolSetupError, match="is no folder"):
            file_tools(folder)
    for encodings in (("klingon",), ()):
        with pytest.raises(ToolSetupError, match="encoding"):
            file_tools(tmp_path, encodings=encodings)
