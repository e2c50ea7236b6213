"""A user at a prompt, as the tests of the command line have one."""

import pytest

from tests.cli.conftest import prompt
from tests.cli.support import clean_environment

__all__ = ["clean", "prompt"]


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    clean_environment(monkeypatch)
