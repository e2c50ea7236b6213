"""Maps whose items need a model: questions, agents, arguments filled in, values that need a source."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.map.support import Json, Runs, hard, mapped, row
from tests.support.models import says
from tools import ToolRegistry, policy

LIST: Json = {"id": "list", "action": "tool", "tool": "list_values", "args": {"count": 3}}


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def _step_said(prompt: str) -> str:
    return prompt.partition("Your step: ")[2].partition("\n")[0]


def test_each_item_asks_its_own_question(runs: Runs) -> None:
    model = says(lambda prompt: f"said {_step_said(prompt)}")
    runs.models = {"default": model}
    step = {"action": "llm", "instruction": "describe ${item.name} (${index})"}
    document = runs.start(LIST, {"id": "m", "action": "map", "over": "${list}", "step": step})
    assert row(document, "m")["output"]["results"] == [f"said describe 第{n}个 ({n})" for n in range(3)]
    assert document["usage"]["model_calls"] == 3
    assert all("第2个" not in prompt for prompt in model.prompts if "第0个" in prompt)


def test_answers_of_before_are_not_asked_for_again(runs: Runs) -> None:
    model = says("one", "two", lambda _prompt: 1 / 0, "three")  # type: ignore[arg-type,return-value]
    runs.models, runs.settings = (
        {"default": model},
        {"max_concurrency": 1, "llm_attempts": 1, "max_model_calls": 2},
    )
    step = {"action": "llm", "instruction": "describe ${item}"}
    stopped = runs.start({"id": "m", "action": "map", "over": [1, 2, 3], "step": step})
    assert stopped["status"] != "succeeded"
    assert len(model.prompts) == 2
    assert "m was stopped after 2 of 3 items" in stopped["reason"]


def test_items_may_be_agents_whose_calls_are_journaled_per_item(runs: Runs) -> None:
    def act(prompt: str) -> Json:
        name = prompt.partition("look up ")[2].split()[0]
        if f"<{name}>" in prompt:
            return {"result": f"found {name}"}
        return {"tool": "read", "args": {"value": name}}

    runs.models, runs.settings = {"default": says(act)}, {"agent_method": "structured"}
    step = {"action": "agent", "instruction": "look up ${item.name} now", "tools": ["read"]}
    document = runs.start(LIST, {"id": "m", "action": "map", "over": "${list}", "step": step})
    assert row(document, "m")["output"]["results"] == [f"found 第{n}个" for n in range(3)]
    assert runs.shelf.calls == {f"read 第{n}个": 1 for n in range(3)}


def test_agents_that_may_write_are_approved_as_a_map(runs: Runs) -> None:
    def act(prompt: str) -> Json:
        value = prompt.partition("put away ")[2].split()[0]
        return {"result": "ok"} if f"<{value}>" in prompt else {"tool": "put", "args": {"value": value}}

    runs.models, runs.settings = {"default": says(act)}, {"agent_method": "structured"}
    step = {"action": "agent", "instruction": "put away ${item} please", "tools": ["put"]}
    waiting = runs.start({"id": "m", "action": "map", "over": ["a", "b"], "step": step})
    (question,) = waiting["pending"]
    assert "tools that write: put" in question["reason"]
    assert runs.shelf.puts == []
    document = runs.resume("approve")
    assert document["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == ["a", "b"]
    assert {effect["step"] for effect in document["effects"]} == {"m#0", "m#1"}


def test_arguments_are_filled_in_for_each_item_before_anybody_is_asked(runs: Runs) -> None:
    model = says(lambda prompt: {"value": int(prompt.rpartition('"n":')[2].split(",")[0].strip("} "))})
    runs.models = {"default": model}
    waiting = runs.start(
        LIST, mapped("m", "${list}", "put_risky", {}, step={"fill": ["value"]}, depends_on=["list"])
    )
    (question,) = waiting["pending"]
    assert [call["args"]["value"] for call in question["args"]["all"]] == [0, 1, 2]
    asked = len(model.prompts)
    document = runs.resume("approve")
    assert document["status"] == "succeeded"
    assert sorted(runs.shelf.puts) == [0, 1, 2]
    assert len(model.prompts) == asked


def _planned(runs: Runs, over: Any, value: Any) -> Json:
    """A run whose plan a model wrote."""
    steps = [LIST, mapped("m", over, "pay", {"amount": value})]
    runs.models = {"default": says({"steps": steps})}

    @policy(effect="read")
    def list_values(count: int) -> list[Json]:
        """List some values."""
        return [{"n": 100 + n} for n in range(count)]

    @policy(effect="write", risk="low", grounded=["amount"])
    def pay(amount: int) -> int:
        """Pay."""
        runs.shelf.puts.append(amount)
        return amount

    runs.tools = ToolRegistry.of(list_values, pay)
    return asyncio.run(runs._invoke({"goal": "pay what is listed for the first 3"}))


def test_values_of_a_tools_list_have_a_source(runs: Runs) -> None:
    document = _planned(runs, "${list}", "${item.n}")
    assert document["status"] == "succeeded", document["reason"]
    assert sorted(runs.shelf.puts) == [100, 101, 102]


def test_a_made_up_value_in_a_list_makes_a_person_look(runs: Runs) -> None:
    waiting = _planned(runs, [{"n": 777}], "${item.n}")
    assert waiting["status"] == "waiting", waiting["reason"]
    assert "777" in waiting["pending"][0]["reason"]
    assert runs.shelf.puts == []


def test_a_replanner_is_shown_how_long_a_list_is_not_all_of_it(runs: Runs) -> None:
    model = says({"cannot": "no"})
    runs.models = {"replanner": model}
    runs.shelf.behave = hard(0)
    runs.start(mapped("m", list(range(5000)), "read", {"value": "${item}"}))
    assert "(5000 items in all)" in model.prompts[0]
    assert len(model.prompts[0]) < 10_000


def test_a_map_of_writes_is_checked_before_it_begins_and_once(runs: Runs) -> None:
    verdict = {"reason": "it fits", "valid": True, "broken_assumption": None}
    model = says(verdict)
    runs.models = {"validator": model}
    document = runs.start(LIST, mapped("m", "${list}", "put", {"value": "${item.n}"}))
    assert document["status"] == "succeeded"
    assert len(model.prompts) == 1
    assert 'put({"value": "${item.n}"}) for each item of "${list}"' in model.prompts[0]
