"""A desk for each test, and a command line."""

from pathlib import Path

import pytest

from tests.cli.support import Prompt, prompt_in
from tests.language.support import Desk, Office


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "runs.db", Office())


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return prompt_in(tmp_path, monkeypatch, capsys)
