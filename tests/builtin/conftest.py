"""What the tests of the web tools and of the file tools share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.tools import BaseTool

from tests.builtin.site import Site, site
from tools.builtin import FileLimits
from tools.builtin.files import workspace_tools
from tools.builtin.workspace import Workspace


@pytest.fixture
def web() -> Iterator[Site]:
    """A web site on loopback."""
    with site() as running:
        yield running


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
