"""Budgets of whole runs: never passed, named when they end a run, kept over a resume."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from checkpoints import Journal, open_store
from graph.build import build_graph
from graph.plan import RunStatus
from graph.state import SettingsError
from nodes.books import active_seconds, open_ledger
from tests.budget.support import Counting, Office, call, plan_of, think

EIGHT = plan_of(*(think(f"s{n}") for n in range(8)))
PRICES = {"counting": {"input": 1_000, "output": 2_000}}


def run(model: Counting | None, given: dict[str, Any], office: Office | None = None, **limits: Any) -> Any:
    graph = build_graph(tools=(office or Office()).tools(), models=model, settings=limits)
    return graph.invoke(given)


def statuses(document: dict[str, Any]) -> list[str]:
    return [row["status"] for row in document["steps"]]


def test_model_calls_stop_at_their_limit_and_the_run_says_which_ended_it() -> None:
    model = Counting()

    document = run(model, EIGHT, max_model_calls=5)

    assert model.calls == document["usage"]["model_calls"] == 5
    assert document["status"] == "partial"
    assert statuses(document).count("succeeded") == 5
    assert statuses(document).count("cancelled") == 3
    assert "5 model calls (max_model_calls)" in document["reason"]
    assert "max_model_calls" in document["answer"]


def test_a_budget_that_just_suffices_ends_nothing() -> None:
    office = Office()

    document = run(
        Counting(),
        plan_of(think("a"), call("b", "look", "a"), call("c", "put", "b")),
        office,
        max_model_calls=1,
        max_tool_calls=2,
    )

    assert document["status"] == "succeeded", document["reason"]
    assert office.calls == ["b", "c"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2_000), st.integers(1, 500), st.integers(1, 8))
def test_eight_steps_at_once_never_take_more_tokens_than_allowed(
    limit: int, answer: int, concurrency: int
) -> None:
    model = Counting(answer_tokens=answer)

    document = run(model, EIGHT, max_tokens=limit, max_concurrency=concurrency, max_output_tokens=300)

    assert model.tokens <= limit
    usage = document["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == model.tokens
    assert document["status"] == "succeeded" or "max_tokens" in document["reason"]


def test_steps_run_side_by_side_as_long_as_the_budget_has_room() -> None:
    model = Counting(delay=0.05)

    run(model, EIGHT, max_tokens=100_000)

    assert model.most_at_once == 8


def test_a_run_without_anything_done_failed_for_its_budget() -> None:
    document = run(Counting(), EIGHT, max_model_calls=0)

    assert document["status"] == "failed"
    assert document["success"] is False
    assert "max_model_calls" in document["reason"]


def test_cost_is_bounded_and_told() -> None:
    model = Counting()
    limit = 0.3

    document = run(model, EIGHT, max_cost=limit, prices=PRICES, max_output_tokens=50)

    usage = document["usage"]
    assert usage["cost"] == pytest.approx(
        (usage["input_tokens"] * 1_000 + usage["output_tokens"] * 2_000) / 1e6
    )
    assert 0 < usage["cost"] <= limit
    assert "max_cost" in document["reason"]


def test_a_cost_without_a_price_is_unknown_and_cannot_be_bounded() -> None:
    assert run(Counting(), EIGHT)["usage"]["cost"] is None
    with pytest.raises(SettingsError, match="needs the price of 'counting'"):
        run(Counting(), EIGHT, max_cost=1.0)


def test_tool_calls_count_repeated_ones_too() -> None:
    office = Office()

    document = run(None, plan_of(call("a", "fail"), call("b", "look", "a")), office, max_tool_calls=3)

    assert office.calls == ["a"] * 3
    assert document["usage"]["tool_calls"] == 3
    assert statuses(document) == ["failed", "cancelled"]
    assert "max_tool_calls" in document["reason"]


def test_no_write_starts_once_the_budget_is_spent() -> None:
    office = Office()
    writes = [call(f"w{n}", "put") for n in range(8)]

    document = run(None, plan_of(*writes), office, max_tool_calls=3)

    assert len(office.calls) == 3
    assert len(document["effects"]) == 3


def test_a_lookup_ends_with_the_wall_time_and_nothing_new_starts() -> None:
    office = Office()

    document = run(None, plan_of(call("a", "doze"), call("b", "look", "a")), office, max_wall_seconds=0.3)

    assert office.calls == ["a"]
    assert document["status"] == "failed"
    assert "max_wall_seconds" in document["reason"]
    assert 0.2 < document["usage"]["wall_seconds"] < 5


def test_the_planners_calls_count_and_a_spent_budget_is_an_honest_end() -> None:
    steps = {"goal": "g", "steps": [think("a"), think("b", "a")]}
    model = Counting(say=lambda asked: json.dumps(steps) if "You plan" in asked else "done")

    document = run(model, {"goal": "g"}, max_model_calls=2)
    refused = run(model, {"goal": "g"}, max_model_calls=0)

    assert document["usage"]["by_role"]["planner"]["model_calls"] == 1
    assert statuses(document) == ["succeeded", "cancelled"]
    assert refused["status"] == "failed"
    assert "max_model_calls" in refused["reason"]


def test_usage_that_nobody_told_is_estimated_and_marked() -> None:
    told = run(Counting(), EIGHT)["usage"]
    untold = run(Counting(tells=False), EIGHT)["usage"]

    assert told["estimated"] is False
    assert untold["estimated"] is True
    assert untold["input_tokens"] == told["input_tokens"]
    assert untold["output_tokens"] == 8  # "done" is a token


def test_a_step_that_spends_its_own_budget_fails_and_the_run_goes_on() -> None:
    steps = plan_of(think("a", choices=["yes", "no"], optional=True), think("b"))

    document = run(Counting(), steps, step_max_model_calls=2)

    first, second = document["steps"]
    assert first["error"]["code"] == "step_budget_spent"
    assert "step_max_model_calls" in first["error"]["message"]
    assert second["status"] == "succeeded"
    assert document["usage"]["model_calls"] == 3


async def test_what_was_spent_before_a_resume_still_counts(tmp_path: Path) -> None:
    steps: Any = plan_of(
        think("a"), call("b", "put", "a", require_approval=True), think("c", "b"), think("d", "c")
    )
    config: Any = {"configurable": {"thread_id": "r"}}
    spent = []
    inputs: tuple[Any, ...] = (steps, Command(resume="approve"))
    for sent in inputs:
        with open_store(tmp_path / "runs.db") as store:
            graph = build_graph(
                tools=Office().tools(),
                models=(model := Counting()),
                settings={"max_model_calls": 2, "prices": PRICES},
                checkpointer=store.checkpointer,
                store=store.store,
            )
            document = await graph.ainvoke(sent, config)
            spent.append((model.calls, document["usage"]["cost"]))

    assert [calls for calls, _ in spent] == [1, 1]
    assert spent[1][1] > spent[0][1] > 0
    assert statuses(document) == ["succeeded", "succeeded", "succeeded", "cancelled"]
    assert "max_model_calls" in document["reason"]


@pytest.mark.parametrize("given", [{"goal": "g"}, plan_of(think("a"))], ids=["planner", "step"])
async def test_a_call_that_a_kill_cut_off_counts_as_it_was_reserved(given: Any) -> None:
    store = InMemoryStore()
    model = Counting(delay=20)
    graph = build_graph(models=model, settings={"max_tokens": 5_000}, store=store)
    config: Any = {"configurable": {"thread_id": "r"}}
    asking = asyncio.ensure_future(graph.ainvoke(given, config))
    await model.begun.wait()
    await asyncio.sleep(0.2)  # a step's intent rides with the next write
    log = await Journal(store, "r").load()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    left = open_ledger(graph.engine, log)

    assert left.total.model_calls == 1
    assert left.total.tokens > 100
    assert left.total.estimated


def test_a_tries_end_names_the_time_that_is_not_left() -> None:
    document = run(None, plan_of(call("a", "doze", timeout=0.05)), step_max_wall_seconds=0.1)

    assert "step_max_wall_seconds" in document["reason"]


async def test_the_time_up_to_the_last_sign_of_life_counts_after_a_kill(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        graph = build_graph(tools=Office().tools(), checkpointer=store.checkpointer, store=store.store)
        config: Any = {"configurable": {"thread_id": "r"}}
        steps: Any = plan_of(call("a", "look"))
        await graph.ainvoke(steps, config)
        log = await Journal(store.store, "r").load()

    assert log.run is not None
    assert active_seconds(log.run, log.steps) == log.run.usage["wall_seconds"]
    assert active_seconds(None, {}) == 0.0
    entry = next(iter(log.steps.values()))
    assert entry.ended_at is not None
    running = log.run.model_copy(
        update={"status": RunStatus.RUNNING, "updated_at": entry.ended_at.replace(year=2020)}
    )
    assert active_seconds(running, log.steps) > 1e8
