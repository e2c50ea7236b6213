"""A run with maps, killed before and after each write to the journal and each effect, then resumed."""

from collections import Counter
from itertools import count
from random import Random
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs
from tests.crash.list_errand import ITEMS, done

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

STRIPES = 2


def _nothing_lost_nothing_twice(run: Killable, result: dict[str, Any]) -> None:
    assert result["last"]["status"] == "succeeded"
    assert sorted(done(run.folder)) == [f"v{number}" for number in range(ITEMS)]
    ended = {key for key, status in result["before"].items() if status == "succeeded"}
    assert not ended & {f"puts#{call.rpartition('v')[2]}" for call in result["new_calls"]}
    assert not ended & set(result["new_questions"])


def _doubt_is_told(result: dict[str, Any]) -> None:
    calls = Counter(result["calls_before_answers"])
    assert all(times == 1 for call, times in calls.items() if call.startswith("put"))
    assert result["first"]["pending"] in ([], ["puts"])


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
@pytest.mark.parametrize("stripe", range(STRIPES))
def test_killed_at_any_boundary_each_item_happens_exactly_once(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    doubts = 0
    for boundary in count(1 + stripe, STRIPES * (3 if idempotent else 1)):
        run = runs.fresh(idempotent=idempotent, kind="list")
        killed = run.killed(kill_at=boundary)
        result = run.to_the_end() if killed else run.result()

        _nothing_lost_nothing_twice(run, result)
        if not idempotent:
            _doubt_is_told(result)
        doubts += len(result["first"]["pending"])
        if not killed:
            break
    assert boundary > 25
    assert bool(doubts) is not idempotent


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    chance = Random(11)
    for _ in range(4):
        run = runs.fresh(idempotent=idempotent, kind="list")
        for _ in range(4):
            run.killed(kill_at=chance.randint(1, 30))
        result = run.to_the_end()

        _nothing_lost_nothing_twice(run, result)
