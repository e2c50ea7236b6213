"""The LangGraph server starts with the shipped configuration and serves Studio."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from graph.state import OUTPUT_KEYS
from tests.server.process import Server, environment
from tests.server.studio import GRAPH, Json, Studio, error_of, lookup_and_refund, plan, refund, tool

pytestmark = pytest.mark.server

CHAIN = plan(
    tool("s1", "query_stock", {"sku": "LMP-11"}),
    *(tool(f"s{n}", "query_stock", {"sku": f"${{s{n - 1}.sku}}"}) for n in range(2, 61)),
)


async def test_the_graph_is_listed_and_takes_a_goal_a_plan_or_a_template(studio: Studio) -> None:
    (assistant,) = await studio.client.assistants.search()
    schemas = await studio.client.assistants.get_schemas(assistant["assistant_id"])

    assert assistant["graph_id"] == GRAPH
    taken, given = schemas["input_schema"] or {}, schemas["output_schema"] or {}
    assert set(taken["properties"]) == {"goal", "plan", "template", "params"}
    assert taken["properties"]["goal"]["type"] == "string"
    assert not taken.get("required")
    assert set(given["properties"]) == set(OUTPUT_KEYS)


async def test_a_risky_step_stops_with_its_id_and_resolved_arguments(studio: Studio) -> None:
    thread, result = await studio.start({"goal": "pay", "plan": lookup_and_refund(1)})
    state = await studio.client.threads.get_state(thread)
    question = (await studio.open_questions(thread))["s2"]

    assert result["status"] == "waiting"
    assert state["next"] == ["approval"]
    assert question["tool"] == "issue_refund"
    assert question["args"] == {"order_id": "A1234", "amount": 1}
    assert (await studio.client.threads.get(thread))["status"] == "interrupted"
    assert 1 not in studio.refunds()


ANSWERS = [
    (2, {"s2": {"decision": "approve", "by": "Kim"}}),
    (3, "approve"),
    (4, {"approved": True}),
    (5, '{"decision": "approve"}'),
]


async def test_every_form_of_yes_runs_the_step_once(studio: Studio) -> None:
    async def pay(amount: int, answer: Any) -> Json:
        thread, _ = await studio.start({"plan": lookup_and_refund(amount)})
        return await studio.answer(thread, answer)

    results = await asyncio.gather(*(pay(amount, answer) for amount, answer in ANSWERS))

    assert [result["status"] for result in results] == ["succeeded"] * len(ANSWERS)
    assert [studio.refunds().count(amount) for amount, _ in ANSWERS] == [1] * len(ANSWERS)


async def test_edited_arguments_are_what_runs(studio: Studio) -> None:
    thread, _ = await studio.start({"plan": lookup_and_refund(6)})

    result = await studio.answer(thread, {"s2": {"decision": "edit", "args": {"amount": 7}}})

    assert result["status"] == "succeeded"
    assert 6 not in studio.refunds()
    assert studio.refunds().count(7) == 1


async def test_a_rejected_step_never_runs(studio: Studio) -> None:
    thread, _ = await studio.start({"plan": lookup_and_refund(8)})

    result = await studio.answer(thread, {"s2": {"decision": "reject", "reason": "too much"}})

    assert result["status"] == "partial"
    assert result["success"] is False
    assert "too much" in result["reason"]
    assert 8 not in studio.refunds()


async def test_two_questions_are_answered_one_by_one_in_any_order(studio: Studio) -> None:
    thread, _ = await studio.start({"plan": plan(refund("s1", 9), refund("s2", 10))})
    assert set(await studio.open_questions(thread)) == {"s1", "s2"}
    assert "name the one you answer" in error_of(await studio.answer(thread, "approve"))

    second = await studio.answer(thread, {"s2": {"decision": "approve"}})
    assert [item["step"] for item in second["pending"]] == ["s1"]
    assert list(await studio.open_questions(thread)) == ["s1"]
    assert (studio.refunds().count(9), studio.refunds().count(10)) == (0, 1)

    third = await studio.answer(thread, {"s1": "approve"})
    assert third["status"] == "succeeded"
    assert (studio.refunds().count(9), studio.refunds().count(10)) == (1, 1)


BAD_ANSWERS = [
    "maybe",
    17,
    [],
    {"s9": {"decision": "approve"}},
    {"s2": {"decision": "edit", "args": {"amount": "lots"}}},
]


async def test_an_answer_that_fits_nothing_says_so_and_leaves_the_question_open(studio: Studio) -> None:
    async def answer_badly(answer: Any) -> tuple[str, list[str], Json]:
        thread, _ = await studio.start({"plan": lookup_and_refund(11)})
        said = error_of(await studio.answer(thread, answer))
        still_open = list(await studio.open_questions(thread))
        return said, still_open, await studio.answer(thread, {"approved": False})

    results = await asyncio.gather(*(answer_badly(answer) for answer in BAD_ANSWERS))

    assert [said for said, _, _ in results if not said.startswith("ApprovalError: ")] == []
    assert [said for said, _, _ in results if "internal error" in said] == []
    assert [still_open for _, still_open, _ in results] == [["s2"]] * len(BAD_ANSWERS)
    assert {final["status"] for _, _, final in results} == {"partial"}
    assert 11 not in studio.refunds()


BAD_INPUTS: list[tuple[Json, str]] = [
    ({"goal": "x", "plna": {}}, "InputError: unknown input 'plna'"),
    ({"goal": "settle the complaint"}, "InputError: there is no plan and no model"),
    ({"goal": ""}, "InputError: the goal is empty"),
    ({}, "InputError: the goal is empty"),
    ({"plan": plan(tool("s1", "sleepy", {}), tool("s2", "nope", {}))}, "PlanError: "),
    ({"plan": plan(tool("s1", "sleepy", {}, depends_on=["s1"]))}, "PlanError: "),
    ({"plan": "buy milk"}, "PlanError: "),
]


async def test_bad_input_is_named_and_no_tool_is_called(studio: Studio) -> None:
    results = await asyncio.gather(*(studio.start(given) for given, _ in BAD_INPUTS))

    said = [error_of(result) for _, result in results]
    expected = [text for _, text in BAD_INPUTS]
    assert [s for s, text in zip(said, expected, strict=True) if not s.startswith(text)] == []
    assert "unknown_tool [s2]" in said[4]
    assert "self_dependency [s1]" in said[5]


async def test_a_thread_in_the_middle_of_a_run_takes_no_second_one_but_an_ended_one_does(
    studio: Studio,
) -> None:
    thread, _ = await studio.start({"plan": lookup_and_refund(12)})

    refused = error_of(await studio.again(thread, {"plan": CHAIN}))
    ended = await studio.answer(thread, "reject")
    again = await studio.again(thread, {"plan": plan(tool("s1", "query_stock", {"sku": "KET-02"}))})

    assert refused.startswith("RunExistsError: ")
    assert ended["status"] == "partial"
    assert again["status"] == "succeeded"


async def test_a_chain_of_sixty_steps_runs_to_its_end(studio: Studio) -> None:
    _, result = await studio.start({"plan": CHAIN})

    assert result["status"] == "succeeded"
    assert len(result["steps"]) == 60


async def test_a_run_needs_no_thread(studio: Studio) -> None:
    result = await studio.client.runs.wait(None, GRAPH, input={"plan": CHAIN})

    assert isinstance(result, dict)
    assert result["status"] == "succeeded"


async def test_a_run_streams_updates_values_and_events(studio: Studio) -> None:
    thread = await studio.client.threads.create()
    told: dict[str, list[Any]] = {"updates": [], "values": [], "custom": []}

    async for part in studio.client.runs.stream(
        thread["thread_id"],
        GRAPH,
        input={"plan": lookup_and_refund(13)},
        stream_mode=["updates", "values", "custom"],
    ):
        told.setdefault(part.event, []).append(part.data)

    assert {"planner", "scheduler", "executor", "__interrupt__"} <= {
        name for update in told["updates"] for name in update
    }
    assert told["values"][-1]["pending"][0]["step"] == "s2"
    events = [(event["type"], event["step"]) for event in told["custom"]]
    assert [e for e in events if e[1] == "s1"] == [("step_started", "s1"), ("step_succeeded", "s1")]
    assert ("approval_requested", "s2") in events
    assert "error" not in told


async def test_the_server_watches_for_blocking_calls_and_the_graph_makes_none(
    server: Server, studio: Studio
) -> None:
    _, result = await studio.start({"plan": plan(tool("s1", "sleepy", {}))})

    (row,) = result["steps"]
    assert row["status"] == "failed"
    assert "Blocking call to time.sleep" in row["error"]["message"]
    assert "BlockingError" not in server.log
    assert "Heads up! LangGraph dev identified" not in server.log


def test_the_server_calls_nobody(server: Server, tmp_path: Path) -> None:
    assert server.calls_out == ""

    calls = tmp_path / "calls.txt"
    dialling = "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('192.0.2.1', 9))"
    subprocess.run(
        [sys.executable, "-c", dialling],
        env=environment(server.folder) | {"CALLS_OUT": str(calls)},
        check=True,
    )
    assert "192.0.2.1" in calls.read_text()  # the watch works
