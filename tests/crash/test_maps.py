"""A run with maps, killed before and after each write to the journal and each effect, then resumed."""

from collections import Counter
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs, Swept
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


def _holds(swept: Swept) -> None:
    _nothing_lost_nothing_twice(swept.run, swept.result)
    if not swept.run.idempotent:
        _doubt_is_told(swept.result)


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
@pytest.mark.parametrize("stripe", range(STRIPES))
def test_killed_at_any_boundary_each_item_happens_exactly_once(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    doubts = 0
    boundary = 0
    for swept in runs.killed_at_each_boundary("list", idempotent=idempotent, stripe=stripe, stripes=STRIPES):
        _holds(swept)
        boundary, doubts = swept.boundary, doubts + len(swept.result["first"]["pending"])
    assert boundary > 25
    assert bool(doubts) is not idempotent


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    for swept in runs.killed_again_and_again("list", idempotent=idempotent, seed=11, times=4, latest=30):
        _nothing_lost_nothing_twice(swept.run, swept.result)
