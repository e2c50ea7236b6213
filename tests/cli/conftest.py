"""The fixture of all command line tests."""

from pathlib import Path

import pytest

from tests.cli.support import TOOLS, Prompt, clean_environment


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    clean_environment(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mytools.py").write_text(TOOLS, encoding="utf-8")
    return Prompt(tmp_path, monkeypatch, capsys)
