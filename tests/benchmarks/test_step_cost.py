"""Whether a step of a long plan costs what a step of a short one costs."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from checkpoints import open_store
from tests.benchmarks.conftest import Figures
from tests.benchmarks.measuring import Pairs, by_turns, in_row, ratio_of, within
from tests.benchmarks.plans import JsonPlan, chain, fan_out, graph_on, run_to_success
from tools import policy

SHORT, LONG = 100, 1_000
ROUNDS = 3
LIMIT = 1.3


@policy(effect="read")
async def look_up(i: int) -> str:
    """Return one kilobyte."""
    return f"result {i:08}\n" * 63


@pytest.mark.benchmark
@pytest.mark.timeout(400)
@pytest.mark.parametrize("shape", [chain, fan_out], ids=["chain", "fan-out"])
async def test_a_step_of_a_long_plan_costs_what_one_of_a_short_plan_costs(
    shape: Callable[[int, str], JsonPlan], tmp_path: Path, figures: Figures
) -> None:
    pairs = await within(LIMIT, lambda: _pairs(shape, tmp_path), ratio_of)

    name = shape.__name__.replace("_", "-")
    figures(f"cost per step at {LONG:,} steps / at {SHORT}, {name}", in_row(pairs, LONG), f"{LIMIT:.2f}x")
    assert ratio_of(pairs) <= LIMIT


async def _pairs(shape: Callable[[int, str], JsonPlan], folder: Path) -> Pairs:
    """Seconds of a long plan and of ten short ones with as many steps, by turns."""
    short, long = shape(SHORT, "look_up"), shape(LONG, "look_up")
    with open_store(folder / f"{uuid4().hex}.db") as opened:
        graph = graph_on(opened, [look_up])

        async def run(plan: JsonPlan, times: int) -> None:
            for _ in range(times):
                await run_to_success(graph, plan, uuid4().hex)

        await run(short, 1)
        return await by_turns(lambda: run(long, 1), lambda: run(short, LONG // SHORT), ROUNDS)
