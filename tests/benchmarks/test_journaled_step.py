"""What a journaled step takes beside a `@task` of LangGraph's functional API that calls the same tool."""

from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from checkpoints import OpenedStore, open_store
from tests.benchmarks.conftest import Figures
from tests.benchmarks.measuring import Pairs, by_turns, in_row, ratio_of, within
from tests.benchmarks.plain import Saver, task_chain
from tests.benchmarks.plans import chain, graph_on, run_to_success
from tools import policy

STEPS = 300
ROUNDS = 9
LIMIT = 1.25


def look_up_tool() -> BaseTool:
    @tool
    async def look_up(i: int) -> str:
        """Return one kilobyte."""
        return f"result {i:08}\n" * 63

    return look_up


@pytest.mark.benchmark
@pytest.mark.timeout(400)
async def test_a_journaled_step_takes_about_as_long_as_a_task_on_the_same_saver(
    tmp_path: Path, figures: Figures
) -> None:
    with open_store(tmp_path / "ours.db") as opened:
        pairs = await within(LIMIT, lambda: _pairs(opened, opened.checkpointer), ratio_of)
    figures("time per journaled step / per @task on the same saver", in_row(pairs, STEPS), f"{LIMIT:.2f}x")
    assert ratio_of(pairs) <= LIMIT


@pytest.mark.benchmark
@pytest.mark.timeout(400)
async def test_a_journaled_step_takes_about_as_long_as_a_task_on_langgraphs_own_saver(
    tmp_path: Path, figures: Figures
) -> None:
    with open_store(tmp_path / "ours.db") as opened:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "theirs.db")) as saver:
            pairs = await within(LIMIT, lambda: _pairs(opened, saver), ratio_of)
    figures("  / per @task on LangGraph's AsyncSqliteSaver", in_row(pairs, STEPS), f"{LIMIT:.2f}x")
    assert ratio_of(pairs) <= LIMIT


async def _pairs(opened: OpenedStore, saver: Saver) -> Pairs:
    """Seconds of our chain and of the chain of tasks, by turns; one of each warms up."""
    graph = graph_on(opened, [policy(effect="read")(look_up_tool())])
    plan, tasks = chain(STEPS, "look_up"), task_chain(STEPS, look_up_tool(), saver)
    pairs = await by_turns(
        lambda: run_to_success(graph, plan, uuid4().hex), lambda: tasks(uuid4().hex), ROUNDS + 1
    )
    return pairs[1:]
