"""A run with maps, killed before and after each write to the journal and each effect, then resumed."""

from collections import Counter
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs
from tests.crash.list_errand import ITEMS, done
from tests.crash.sweeping import Sweep, by_stripe, with_keys_and_without

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]


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


MAPS = Sweep("list", _nothing_lost_nothing_twice, _doubt_is_told)


@with_keys_and_without
@by_stripe
def test_killed_at_any_boundary_each_item_happens_exactly_once(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    MAPS.at_each_boundary(runs, stripe, idempotent=idempotent, beyond=25)


@with_keys_and_without
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    for swept in runs.killed_again_and_again("list", idempotent=idempotent, seed=11, times=4, latest=30):
        _nothing_lost_nothing_twice(swept.run, swept.result)
