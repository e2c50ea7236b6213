"""One server for all tests of this folder."""

from collections.abc import AsyncIterator, Iterator

import pytest
from langgraph_sdk import get_client

from tests.server.process import Server, running_server
from tests.server.studio import Studio


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
async def studio(server: Server) -> AsyncIterator[Studio]:
    """What Studio does with the server."""
    client = get_client(url=server.url, api_key=None)
    yield Studio(client, server)
    await client.aclose()
