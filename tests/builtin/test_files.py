"""Files of one folder, and no way out of it."""

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from graph.plan import Risk
from tests.builtin.calling import output, refusal
from tests.builtin.workspace import LINKS, names
from tools import ToolRegistry, ToolSetupError
from tools.builtin import file_tools
from tools.builtin.workspace import Workspace


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
    assert names(root) == ["file", "folder"]


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
    assert names(root) == ["a.txt"]
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
    assert names(root) == ["x"]


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
