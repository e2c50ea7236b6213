"""How close uneven graphs of steps come to their critical path."""

import asyncio
import statistics
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from checkpoints import open_store
from graph.running import PlanrailGraph
from tests.benchmarks.conftest import Figures
from tests.benchmarks.measuring import seconds, within
from tests.benchmarks.plain import send_waves
from tests.benchmarks.plans import UnevenDag, graph_on, run_to_success
from tools import policy

SEEDS = range(20)
LIMIT = 1.10


@policy(effect="read")
async def rest(seconds: float) -> float:
    """Take some time."""
    await asyncio.sleep(seconds)
    return seconds


@dataclass(frozen=True)
class Makespans:
    """Seconds over the critical path's seconds."""

    lanes: float
    layered: float
    waves: float


@pytest.mark.benchmark
@pytest.mark.timeout(400)
async def test_uneven_steps_take_little_longer_than_their_critical_path(
    tmp_path: Path, figures: Figures
) -> None:
    await _measure(UnevenDag(seed=-1, size=4), tmp_path)  # loads what the first run loads
    found = [await _measure(UnevenDag(seed), tmp_path) for seed in SEEDS]

    shape = f"40 steps of 20-400 ms, seeds {SEEDS.start}-{SEEDS.stop - 1}"
    figures(f"makespan / critical path, lanes ({shape})", _row([f.lanes for f in found]), f"{LIMIT:.2f}")
    figures("  the same plans, scheduling=layered", _row([f.layered for f in found]), "-")
    figures("  the same steps, plain StateGraph with Send waves", _row([f.waves for f in found]), "-")
    for seed, each in zip(SEEDS, found, strict=True):
        assert each.lanes <= LIMIT, f"seed {seed}"


async def _measure(dag: UnevenDag, folder: Path) -> Makespans:
    """Lanes by themselves; then, as they mostly sleep, the other two at the same time."""
    caps: dict[str, Any] = {"max_concurrency": dag.size}  # the plan's shape is to be the only limit
    with (
        open_store(folder / f"{dag.seed}-lanes.db") as ours,
        open_store(folder / f"{dag.seed}-layered.db") as layers,
        open_store(folder / f"{dag.seed}-waves.db") as waves,
    ):
        lanes, layered = (
            graph_on(ours, [rest], **caps),
            graph_on(layers, [rest], scheduling="layered", **caps),
        )
        plain = send_waves(dag, waves.checkpointer)
        alone = await within(
            LIMIT * dag.critical_path(), lambda: seconds(lambda: _run(lanes, dag)), lambda taken: taken
        )
        others = await asyncio.gather(_timed(_run(layered, dag)), _timed(plain("t")))
    return Makespans(*(taken / dag.critical_path() for taken in (alone, *others)))


async def _run(graph: PlanrailGraph, dag: UnevenDag) -> None:
    await run_to_success(graph, dag.plan("rest"), uuid4().hex)


async def _timed(work: Awaitable[Any]) -> float:
    begin = asyncio.get_running_loop().time()
    await work
    return asyncio.get_running_loop().time() - begin


def _row(ratios: list[float]) -> str:
    return f"median {statistics.median(ratios):.3f}, worst {max(ratios):.3f}"
