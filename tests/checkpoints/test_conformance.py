"""LangGraph's own conformance suite for checkpointers, where it is installed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from checkpoints import open_store

conformance = pytest.importorskip("langgraph.checkpoint.conformance")


async def test_the_saver_passes_every_capability_of_langgraphs_suite(tmp_path: Path) -> None:
    made = iter(range(100))

    async def saver() -> AsyncIterator[Any]:
        async with open_store(tmp_path / f"{next(made)}.db") as opened:
            yield opened.checkpointer

    report = await conformance.validate(conformance.checkpointer_test(name="RunSaver")(saver))
    assert {name: result.failures for name, result in report.results.items() if not result.passed} == {}
