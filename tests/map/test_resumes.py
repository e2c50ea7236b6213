"""Maps that are stopped before their end: drained, out of budget, cut off; only what is missing runs on."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from checkpoints import Journal, StepEntry, open_store
from graph.build import build_graph
from graph.cli.documents import read_run
from graph.resuming import stored_document
from tests.map.support import CONFIG, Json, Runs, Shelf, doubtful, hard, mapped, plan, row
from tests.support.models import says

ITEMS = list(range(30))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def _entries(runs: Runs) -> dict[str, StepEntry]:
    async def read() -> dict[str, StepEntry]:
        with open_store(runs.path / "runs.db") as opened:
            return dict((await Journal(opened.store, "r").load()).steps)

    return asyncio.run(read())


async def _stopped(runs: Runs, steps: Json, at: int, how: str) -> None:
    """A process that is asked to drain, or is cancelled, at its N-th call."""
    control = RunControl()
    task: list[asyncio.Task[Any]] = []

    def behave(_value: Any, _tries: int) -> None:
        if runs.shelf.calls.total() != at:
            return
        if how == "drain":
            control.request_drain()
        else:
            task[0].cancel()

    runs.shelf.behave = behave
    with open_store(runs.path / "runs.db") as opened:
        graph = build_graph(
            tools=runs.shelf.registry(),
            settings={"max_concurrency": 2},
            checkpointer=opened.checkpointer,
            store=opened.store,
        )
        task.append(asyncio.ensure_future(graph.ainvoke({"plan": steps}, CONFIG, control=control)))
        with pytest.raises(GraphDrained if how == "drain" else asyncio.CancelledError):
            await task[0]
    runs.shelf.behave = lambda _value, _tries: None


@pytest.mark.parametrize("how", ["drain", "cancel"])
def test_a_map_that_is_stopped_goes_on_with_what_is_missing(runs: Runs, how: str) -> None:
    steps = plan(mapped("m", ITEMS, "put", {"value": "${item}"}))
    asyncio.run(_stopped(runs, steps, at=10, how=how))
    begun = runs.shelf.calls.total()
    assert 10 <= begun <= 14

    document = runs.resume()
    assert document["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == ITEMS
    assert row(document, "m")["output"]["results"] == [f"<{n}>" for n in ITEMS]
    if how == "drain":
        assert runs.shelf.calls == Counter({f"put {n}": 1 for n in ITEMS})


def test_a_map_out_of_budget_keeps_what_is_done_and_says_how_far_it_came(runs: Runs) -> None:
    runs.settings = {"max_tool_calls": 7, "max_concurrency": 2}
    document = runs.start(mapped("m", ITEMS, "put", {"value": "${item}"}))

    assert document["status"] == "partial"
    output = row(document, "m")["output"]
    assert sorted(filter(None, output["results"])) == sorted(f"<{n}>" for n in runs.shelf.puts)
    assert (len(output["results"]), output["failures"]) == (30, [])
    assert "m was stopped after 7 of 30 items" in document["reason"]
    assert "max_tool_calls" in document["reason"]
    assert row(document, "m")["items"] == {"total": 30, "succeeded": 7, "failed": 0, "not_taken": 0}
    assert len(document["effects"]) == len(runs.shelf.puts) == 7
    assert "Effects: m (put, 7 times succeeded)." in document["answer"]


def test_a_map_that_a_budget_stopped_tells_its_failures_too_and_the_journal_agrees(runs: Runs) -> None:
    runs.settings = {"max_tool_calls": 4, "max_concurrency": 1}
    runs.shelf.behave = hard(1)
    document = runs.start(
        mapped("m", ["x" * 40_000, 1, 2, 3, 4, 5], "read", {"value": "${item}"}, min_success=1)
    )
    assert (document["status"], row(document, "m")["status"]) == ("partial", "cancelled")

    async def stored() -> Json:
        with open_store(runs.path / "runs.db") as opened:
            return (await read_run(opened, "r", whole_outputs=True)).document

    output = row(asyncio.run(stored()), "m")["output"]
    assert output["results"] == [f"<{'x' * 40_000}>", None, "<2>", "<3>", None, None]
    assert output["failures"] == [
        {"index": 1, "item": 1, "code": "not_found", "message": "there is no 1"},
    ]


@pytest.mark.parametrize(("lost", "status"), [([1, 2], "failed"), ([2], "partial")])
def test_a_run_of_a_failed_map_did_something_when_an_item_did(
    runs: Runs, lost: list[int], status: str
) -> None:
    runs.settings = {"max_replans": 0}
    runs.shelf.behave = hard(*lost)
    document = runs.start(mapped("m", [1, 2], "read", {"value": "${item}"}, min_success=2))
    assert (document["status"], row(document, "m")["status"]) == (status, "failed")


def test_the_budget_of_a_step_is_that_of_each_item(runs: Runs) -> None:
    runs.settings = {"step_max_tool_calls": 1}
    assert runs.start(mapped("m", [1, 2, 3], "put", {"value": "${item}"}))["status"] == "succeeded"


def test_each_item_is_journaled_by_itself_and_its_calls_are_counted_once(runs: Runs) -> None:
    document = runs.start(mapped("m", ["甲", "乙"], "put", {"value": "${item}"}))
    entries = _entries(runs)
    assert set(entries) == {"m", "m#0", "m#1"}
    item = entries["m#1"]
    assert (item.item, item.input, item.output, item.attempts) == (1, {"value": "乙"}, "<乙>", 1)
    assert item.idempotency_key in runs.shelf.keys
    assert entries["m"].items == 2
    assert document["usage"]["tool_calls"] == 2


def test_model_calls_of_items_are_counted_once(runs: Runs) -> None:
    runs.models = {"default": says("fine")}
    step = {"action": "llm", "instruction": "judge ${item}"}
    document = runs.start({"id": "m", "action": "map", "over": [1, 2, 3], "step": step})
    assert document["usage"]["model_calls"] == 3
    assert sum(entry.model_calls for entry in _entries(runs).values()) == 3


def test_what_the_graph_says_of_a_map_is_what_its_journal_says(runs: Runs) -> None:
    document = runs.start(
        mapped("m", [1, 2], "put", {"value": "${item}"}),
        mapped("n", ["x" * 9000] * 9, "read", {"value": "${item}"}),
    )

    async def stored() -> Json | None:
        with open_store(runs.path / "runs.db") as opened:
            return await stored_document(opened.store, "r")

    told = asyncio.run(stored())
    assert told is not None
    assert told == {name: document[name] for name in told}
    assert _entries(runs)["n"].output_ref is not None


def test_items_in_doubt_stay_in_doubt_when_the_budget_ends_the_run(tmp_path: Path) -> None:
    shelf = Shelf(after=doubtful(0))
    runs = Runs(tmp_path, shelf, settings={"max_tool_calls": 3, "max_concurrency": 1})
    document = runs.start(mapped("m", ITEMS, "put_once", {"value": "${item}"}))
    assert row(document, "m")["status"] == "unknown"
    assert {(e["item"], e["status"]) for e in document["effects"]} == {
        (0, "unknown"),
        (1, "succeeded"),
        (2, "succeeded"),
    }
