"""One user per test: a folder, a tool module, the command line."""

from pathlib import Path

import pytest

from tests.acceptance.support import CommandLine, Inline, Toolbox


@pytest.fixture
def toolbox(tmp_path: Path) -> Toolbox:
    return Toolbox.written(tmp_path)


@pytest.fixture
def cli(tmp_path: Path, toolbox: Toolbox) -> CommandLine:
    return CommandLine(tmp_path, toolbox)


@pytest.fixture
def inline(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Inline:
    return Inline(cli, monkeypatch, capfd)
