"""What the tools' tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.calling import Count
from tests.tools.loopback import serving
from tools.shop import Shop, open_shop


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Base URL of a loopback HTTP server."""
    with serving() as url:
        yield url


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A fresh demo shop."""
    return open_shop(tmp_path / "shop.db")


@pytest.fixture
def count() -> Count:
    return Count()
