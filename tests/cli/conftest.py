"""The fixture of all command line tests."""

from pathlib import Path

import pytest

from tests.cli.support import Prompt, prompt_in


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return prompt_in(tmp_path, monkeypatch, capsys)
