"""The office that the tests of steps work in."""

import pytest

from tests.executor.shop import Shop


@pytest.fixture
def shop() -> Shop:
    return Shop()
