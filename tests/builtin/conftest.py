"""What the tests of the web tools share."""

from collections.abc import Iterator

import pytest

from tests.builtin.site import Site, site


@pytest.fixture
def web() -> Iterator[Site]:
    """A web site on loopback."""
    with site() as running:
        yield running
