"""A desk for each test."""

from pathlib import Path

import pytest

from tests.language.support import Desk, Office


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "runs.db", Office())
