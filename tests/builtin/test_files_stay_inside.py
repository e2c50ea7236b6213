"""No path, link or race leads a file tool out of its workspace."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import BaseTool

from tests.builtin.calling import output, refusal
from tests.builtin.workspace import LINKS, names
from tools import HardToolError
from tools.builtin import FileLimits
from tools.builtin.files import workspace_tools
from tools.builtin.folder import Folder
from tools.builtin.workspace import Workspace


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
    assert names(outer) == ["workspace"]


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
