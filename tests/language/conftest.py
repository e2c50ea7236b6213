"""A desk for each test, and a command line."""

from pathlib import Path

import pytest

from tests.cli.support import TOOLS, Prompt, clean_environment
from tests.language.support import Desk, Office


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "runs.db", Office())


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    clean_environment(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mytools.py").write_text(TOOLS, encoding="utf-8")
    return Prompt(tmp_path, monkeypatch, capsys)
