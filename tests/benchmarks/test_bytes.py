"""How much the database grows with each step."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints import open_store
from tests.benchmarks.conftest import Figures
from tests.benchmarks.measuring import bytes_of
from tests.benchmarks.plain import carrying_loop
from tests.benchmarks.plans import JsonPlan, chain, fan_out, graph_on, run_to_success
from tools import policy

COUNTS = (100, 300, 1_000)
LOOP_COUNTS = (100, 300)  # at 1,000 the loop would write half a gigabyte
LIMIT = 6_000
CONSTANT = 1.15
KILOBYTE = "x" * 1_000


@policy(effect="read")
async def look_up(i: int) -> str:
    """Return one kilobyte."""
    return f"result {i:08}\n" * 63


@pytest.mark.benchmark
@pytest.mark.parametrize("shape", [chain, fan_out], ids=["chain", "fan-out"])
def test_each_step_adds_the_same_few_bytes(
    shape: Callable[[int, str], JsonPlan], tmp_path: Path, figures: Figures
) -> None:
    sizes = {count: _size(shape(count, "look_up"), tmp_path / f"{count}.db") for count in COUNTS}

    figures(
        f"database bytes per step at {'/'.join(map(str, COUNTS))} steps, {shape.__name__.replace('_', '-')}",
        _row(sizes),
        f"{LIMIT:,}",
    )
    early, late = _added(sizes, 100, 300), _added(sizes, 300, 1_000)
    figures("  added by each step between them", f"{early:,.0f} / {late:,.0f}", f"{CONSTANT}x")
    assert max(size / count for count, size in sizes.items()) <= LIMIT
    assert late <= CONSTANT * early


@pytest.mark.benchmark
def test_a_loop_that_carries_its_results_adds_more_with_each_step(tmp_path: Path, figures: Figures) -> None:
    sizes = {count: _loop_size(count, tmp_path / f"{count}.db") for count in LOOP_COUNTS}

    figures(f"  a StateGraph loop, at {'/'.join(map(str, LOOP_COUNTS))} steps", _row(sizes), "-")
    assert sizes[300] / 300 > 2 * sizes[100] / 100


def _size(plan: JsonPlan, path: Path) -> int:
    with open_store(path) as opened:
        asyncio.run(run_to_success(graph_on(opened, [look_up]), plan, "t"))
    return bytes_of(path)


def _loop_size(steps: int, path: Path) -> int:
    async def run() -> None:
        with open_store(path) as opened:
            await carrying_loop(steps, KILOBYTE, opened.checkpointer)("t")

    asyncio.run(run())
    return bytes_of(path)


def _added(sizes: dict[int, int], few: int, many: int) -> float:
    return (sizes[many] - sizes[few]) / (many - few)


def _row(sizes: dict[int, int]) -> str:
    return " / ".join(f"{size / count:,.0f}" for count, size in sizes.items())
