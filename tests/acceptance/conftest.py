"""One user per test: a folder, a tool module, the command line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, Inline
from tests.acceptance.support import opened
from tests.acceptance.toolbox import Toolbox


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    return Toolbox.written(tmp_path)


@pytest.fixture
def cli(tmp_path: Path, toolbox: Toolbox) -> CommandLine:
    return CommandLine(tmp_path, toolbox)


@pytest.fixture
def inline(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Inline:
    return Inline(cli, monkeypatch, capfd)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(database: Path) -> Iterator[Any]:
    with opened(database) as both:
        yield both
