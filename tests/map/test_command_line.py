"""Maps at the prompt: how far they are, what they ask, what they did; also killed and resumed."""

import json
import re
import time
from pathlib import Path

import pytest

from tests.cli.support import Prompt, prompt_in

TOOLS = '''
"""Each call appends its value to calls.txt; 商品 3 is not there, and the one that a file names is slow."""
import time
from pathlib import Path
from typing import Annotated

from tools import HardToolError, IdempotencyKey, policy

HERE = Path(__file__).parent


def note(value):
    with (HERE / "calls.txt").open("a", encoding="utf-8") as log:
        log.write(f"{value}\\n")
    while (HERE / "slow").exists() and (HERE / "slow").read_text() == str(value):
        time.sleep(0.02)


@policy(effect="read")
def describe(number: int) -> str:
    """Describe a product."""
    if number == 3:
        raise HardToolError("not_found", "没有商品 3")
    note(number)
    return f"商品 {number}"


@policy(effect="write", idempotent=True, risk="low", grounded=[])
def save(number: int, key: Annotated[str, IdempotencyKey]) -> str:
    """Save a product."""
    note(number)
    return f"saved {number}"


@policy(effect="write", risk="high", grounded=[])
def publish(number: int) -> str:
    """Publish a product."""
    note(number)
    return f"published {number}"


TOOLS = [describe, save, publish]
'''


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return prompt_in(tmp_path, monkeypatch, capsys, TOOLS)


def _map(tool: str, count: int, **more: object) -> dict[str, object]:
    step = {"action": "tool", "tool": tool, "args": {"number": "${item}"}}
    return {"id": "每个", "action": "map", "over": list(range(count)), "step": step, **more}


def test_a_plan_with_a_map_is_checked_and_drawn(prompt: Prompt) -> None:
    said = prompt("check", "--plan", prompt.plan(_map("describe", 3)), "--tools", "mytools.py")
    assert said.code == 0
    bad = _map("describe", 3, step={"action": "tool", "tool": "describe", "args": {"numbr": 1}})
    said = prompt("check", "--plan", prompt.plan(bad), "--tools", "mytools.py")
    assert said.code == 2
    assert "numbr" in said.out + said.err


def test_the_failures_of_a_map_are_told_by_item(prompt: Prompt) -> None:
    said = prompt.run(_map("describe", 5, min_success=0.8))
    assert said.code == 0, said.err
    shown = prompt("show", "r1").out
    assert "map 5/5, 1 failed" in shown
    assert "1 of 5 items failed (#3 not_found: 没有商品 3)" in shown
    document = prompt("show", "r1", "--json").document
    assert document["steps"][0]["items"] == {"total": 5, "succeeded": 4, "failed": 1, "not_taken": 0}
    assert document["steps"][0]["output"]["failures"][0]["item"] == 3


def test_the_state_table_has_a_row_for_each_item_in_their_order(prompt: Prompt) -> None:
    prompt.run(_map("describe", 12, min_success=1))
    rows = json.loads(prompt("steps", "r1", "--json").out)["steps"]
    assert [row["step_id"] for row in rows] == ["每个", *(f"每个#{number}" for number in range(12))]
    assert rows[4]["error_message"] == "没有商品 3"
    assert rows[1]["output_snapshot"] == "商品 0"


def test_a_map_is_approved_as_a_whole(prompt: Prompt) -> None:
    said = prompt.run(_map("publish", 30))
    assert said.code == 3
    shown = prompt("show", "r1").out
    assert "每个  map  risk high" in shown
    assert "calls = 30" in shown
    assert shown.count('"tool": "publish"') == 10
    assert re.search(r"and 20 more; all calls:  \S+ show r1 --json", shown)
    (question,) = prompt("show", "r1", "--json").document["pending"]
    assert [call["args"] for call in question["args"]["all"]] == [{"number": n} for n in range(30)]
    assert prompt("approve", "r1", "每个", "--args", '{"number": 1}').code == 2
    assert prompt("approve", "r1", "每个", "--by", "ada").code == 0
    shown = prompt("show", "r1").out
    assert "每个  30 in all; --json shows each" in shown
    assert len(prompt("show", "r1", "--json").document["effects"]) == 30


def test_calls_too_many_for_a_question_are_all_shown_as_json(prompt: Prompt) -> None:
    prompt.run(_map("publish", 3_000))
    assert "and 2990 more; all calls:" in prompt("show", "r1").out
    (question,) = prompt("show", "r1", "--json").document["pending"]
    assert [call["args"]["number"] for call in question["args"]["all"]] == list(range(3_000))


@pytest.mark.crash
def test_a_killed_map_is_shown_where_it_was_and_goes_on_there(prompt: Prompt) -> None:
    (prompt.folder / "slow").write_text("20")
    words = [*prompt.run_words(_map("save", 40)), "--set", "max_concurrency=1"]
    with prompt.spawn(*words) as process:
        limit = time.monotonic() + 60
        while "20" not in prompt.calls():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < limit
            time.sleep(0.02)
        running = prompt("show", "r1").out
        process.kill()
        process.communicate()

    assert re.search(r"running.* map (19|20)/40|map (19|20)/40", running), running
    interrupted = prompt("show", "r1").out
    assert "interrupted" in interrupted
    assert "map 20/40" in interrupted
    (prompt.folder / "slow").unlink()

    resumed = prompt("resume", "r1", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["steps"][0]["output"]["results"] == [f"saved {number}" for number in range(40)]
    calls = prompt.calls()
    assert [calls.count(str(number)) for number in range(40)] == [2 if n == 20 else 1 for n in range(40)]
    keys = {effect["idempotency_key"] for effect in resumed.document["effects"]}
    assert len(keys) == 40


def test_progress_is_told_while_the_map_runs(prompt: Prompt) -> None:
    said = prompt.run(_map("save", 100))
    assert "100/100 items" in said.err
    assert len(said.err.splitlines()) < 65
