"""A run killed before and after each journal write, checkpoint write and effect, then resumed until done."""

from collections import Counter
from itertools import count
from random import Random
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs
from tests.crash.errand import WRITES, effects

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

STRIPES = 4
STEP_OF_TOOL = {
    "query_order": "order",
    "query_logistics": "way",
    "query_stock": "stock",
    "issue_refund": "refund",
    "send_reply": "reply",
}


def _step_of(call: str) -> str:
    tool, about = call.split()
    step = STEP_OF_TOOL[tool]
    return step if step == "stock" else f"{step}_{about}"


def _nothing_lost_nothing_twice(run: Killable, result: dict[str, Any]) -> None:
    assert result["last"]["status"] == "succeeded"
    assert set(result["last"]["steps"].values()) == {"succeeded"}
    assert sorted(effects(run.folder)) == sorted(WRITES)
    done = {step for step, status in result["before"].items() if status == "succeeded"}
    assert not done & {_step_of(call) for call in result["new_calls"]}
    assert not done & set(result["new_questions"])


def _doubt_is_told(run: Killable, result: dict[str, Any]) -> None:
    """Before anybody answered: what may have happened was not called again, and a person is asked."""
    first = result["first"]
    unknown = {step for step, status in first["steps"].items() if status == "unknown"}
    assert unknown == set(first["pending"])
    assert first["status"] == ("waiting" if unknown else "succeeded")
    assert unknown <= {step for step, status in result["before"].items() if status in ("running", "unknown")}
    calls = Counter(_step_of(call) for call in result["calls_before_answers"])
    assert all(calls[step] <= 1 for step in WRITES)
    assert all(calls[step] == 1 for step in WRITES if first["steps"][step] == "succeeded")


@pytest.mark.parametrize("stripe", range(STRIPES))
def test_killed_at_any_boundary_every_write_happens_exactly_once(runs: Runs, stripe: int) -> None:
    for boundary in count(1 + stripe, STRIPES):
        run = runs.fresh(idempotent=True)
        killed = run.killed(kill_at=boundary)
        result = run.to_the_end() if killed else run.result()

        _nothing_lost_nothing_twice(run, result)
        assert result["first"]["pending"] == []
        if not killed:
            break
    assert boundary > 60


@pytest.mark.parametrize("stripe", range(STRIPES))
def test_killed_at_any_boundary_no_unrepeatable_write_is_called_twice(runs: Runs, stripe: int) -> None:
    doubts = 0
    for boundary in count(1 + stripe, STRIPES):
        run = runs.fresh(idempotent=False)
        killed = run.killed(kill_at=boundary)
        result = run.to_the_end() if killed else run.result()

        _doubt_is_told(run, result)
        _nothing_lost_nothing_twice(run, result)
        doubts += len(result["first"]["pending"])
        if not killed:
            break
    assert boundary > 60
    assert doubts > 0


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    chance = Random(7)
    for _ in range(15):
        run = runs.fresh(idempotent=idempotent)
        for _ in range(4):
            run.killed(kill_at=chance.randint(1, 45))
        result = run.to_the_end()

        _nothing_lost_nothing_twice(run, result)
        if not idempotent:
            _doubt_is_told(run, result)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_at_random_moments(runs: Runs, seed: int, *, idempotent: bool) -> None:
    chance = Random(seed)
    kills = 0
    while kills < 10:
        run = runs.fresh(idempotent=idempotent)
        for _ in range(3):
            kills += run.killed(kill_after=chance.uniform(0.02, 0.18))
        result = run.to_the_end()

        _nothing_lost_nothing_twice(run, result)
        if not idempotent:
            _doubt_is_told(run, result)
