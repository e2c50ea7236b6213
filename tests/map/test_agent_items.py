"""Maps of agents: each agent's calls are its item's, whatever happens to them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Journal, open_store
from tests.map.support import Json, Runs, doubtful, mapped, row
from tests.support.models import says

CAREFREE = {"agent_method": "structured", "approve_at": "never"}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path, settings=CAREFREE, models={"default": says(_putting("put_once"))})


def _putting(tool: str) -> Callable[[str], Json]:
    """An agent that puts its value away, and is done when it has a result."""

    def act(prompt: str) -> Json:
        value = prompt.partition("put away ")[2].split()[0]
        called = f"<{value}>" in prompt or f"seen {value}" in prompt
        return {"result": f"done {value}"} if called else {"tool": tool, "args": {"value": value}}

    return act


def _map(*values: str, tools: tuple[str, ...] = ("put_once",), **more: Any) -> Json:
    step = {"action": "agent", "instruction": "put away ${item} please", "tools": list(tools)}
    return {"id": "m", "action": "map", "over": list(values), "step": step, **more}


def test_a_call_in_doubt_within_an_item_is_decided_and_its_agent_goes_on(runs: Runs) -> None:
    runs.shelf.after = doubtful("b")
    waiting = runs.start(_map("a", "b", "c"))
    (question,) = waiting["pending"]
    assert question["kind"] == "outcome"
    assert question["args"] == {"item": 1, "call": {"tool": "put_once", "args": {"value": "b"}}}
    assert row(waiting, "m")["items"]["succeeded"] == 2

    done = runs.resume({"decision": "happened", "result": "seen b"})
    assert done["status"] == "succeeded", done["reason"]
    assert row(done, "m")["output"]["results"] == ["done a", "done b", "done c"]
    assert runs.shelf.calls == {"put_once a": 1, "put_once b": 1, "put_once c": 1}


def test_a_call_that_did_not_happen_is_made(runs: Runs) -> None:
    runs.shelf.behave = doubtful("b")
    runs.start(_map("a", "b"))
    done = runs.resume("not_happened")
    assert done["status"] == "succeeded", done["reason"]
    assert sorted(runs.shelf.puts) == ["a", "b"]


def test_equal_calls_of_different_items_are_no_repetition(runs: Runs) -> None:
    done = runs.start(_map("a", "a"))
    assert done["status"] == "succeeded", done["reason"]
    assert runs.shelf.puts == ["a", "a"]


def test_calls_are_journaled_under_their_item_and_counted_once(runs: Runs) -> None:
    document = runs.start(_map("a", "b"))

    async def keys() -> list[str]:
        with open_store(runs.path / "runs.db") as opened:
            return sorted((await Journal(opened.store, "r").load()).steps)

    assert asyncio.run(keys()) == ["m", "m#0", "m#0#0", "m#1", "m#1#0"]
    assert document["usage"]["tool_calls"] == 2
    assert row(document, "m")["items"] == {"total": 2, "succeeded": 2, "failed": 0, "not_taken": 0}
    assert [effect["step"] for effect in document["effects"]] == ["m#0", "m#1"]


def test_what_agents_of_a_map_found_is_a_source_for_later_steps(runs: Runs) -> None:
    runs.models = {"default": says(_putting("read"))}
    later = mapped("n", "${m.results}", "read", {"value": "${item}"})
    document = runs.start(_map("a", tools=("read",)), later)
    assert row(document, "n")["output"]["results"] == ["<done a>"]
