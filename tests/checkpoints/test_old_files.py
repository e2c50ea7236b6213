"""A file that an earlier version wrote still opens, lists, and goes on."""

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from checkpoints import Journal, list_runs, open_store
from checkpoints.inspection import FORMAT_VERSION
from graph.plan.statuses import RunStatus, StepStatus
from tests.checkpoints.data.make_store_v1 import LARGE, State, ask, write
from tests.checkpoints.support import NOON

STORED = Path(__file__).parent / "data" / "store_v1.db"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(STORED, tmp_path / "runs.db"))


async def test_the_runs_of_an_old_file_are_listed_and_read(old: Path) -> None:
    async with open_store(old) as opened:
        runs = await list_runs(opened.store)
        assert [(run.run_id, run.status) for run in runs] == [
            ("waiting-run", RunStatus.WAITING),
            ("done.run", RunStatus.SUCCEEDED),
        ]
        done = await Journal(opened.store, "done.run").load()
        assert done.steps["s1"].output == {"n": 2**70}
        assert done.steps["s1"].ended_at == NOON
        assert done.plans == {1: {"steps": [{"id": "s1", "action": "llm"}]}}


async def test_an_old_runs_large_output_is_found_and_its_journal_goes_on(old: Path) -> None:
    async with open_store(old) as opened:
        journal = Journal(opened.store, "waiting-run", inline_bytes=500)
        log = await journal.load()
        assert await journal.output(log.steps["s1"]) == LARGE
        assert log.steps["s2#1"].status is StepStatus.WAITING
        await journal.commit(log.steps["s2#1"].model_copy(update={"status": StepStatus.SUCCEEDED}))
        assert (await journal.load()).steps["s2#1"].status is StepStatus.SUCCEEDED


def test_an_old_thread_that_waits_is_resumed(old: Path) -> None:
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    with open_store(old) as opened:
        compiled = graph.compile(checkpointer=opened.checkpointer)
        answer = compiled.invoke(Command(resume="yes"), {"configurable": {"thread_id": "waiting-run"}})
    assert answer == {"answer": "yes"}


def test_the_stored_file_is_of_the_present_format_and_its_script_still_makes_it(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "new.db"))
    for path in (STORED, tmp_path / "new.db"):
        connection = sqlite3.connect(path)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.close()
        assert version == FORMAT_VERSION
