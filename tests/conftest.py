"""What holds for every test: nothing of the machine's own configuration, no network but loopback."""

import ipaddress
import os
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.transitions import WatchedJournal

# Machines that run tests are shared, and slow at times. Under CI hypothesis draws the same examples again.
settings.register_profile("planrail", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("planrail")

FOREIGN = ("OPENAI_", "PLANRAIL_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs all tests of a server, so that one server is started."""
    for item in items:
        if item.get_closest_marker("server") is not None:
            item.add_marker(pytest.mark.xdist_group("server"))


@pytest.fixture(autouse=True)
def _no_configuration_of_this_machine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.node.get_closest_marker("local_model") is None:
        for name in [name for name in os.environ if name.startswith(FOREIGN)]:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_network_but_loopback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("local_model") is not None:
        return  # the endpoint that its user named may be anywhere
    connect = socket.socket.connect

    def connect_to_loopback(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(str(address[0])):
            pytest.fail(f"a test reached for the network: {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_to_loopback)


@pytest.fixture(autouse=True)
def _steps_change_as_the_table_says(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Whatever a test has graphs do, their journals show no change of a step that the table lacks."""
    if request.node.get_closest_marker("benchmark") is not None:
        yield
        return
    broken: list[str] = []
    monkeypatch.setattr("graph.running.Journal", partial(WatchedJournal, broken=broken))
    yield
    assert not broken


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
