"""A run with a part, a fallback and undoing, killed around each write and each effect, then resumed."""

from collections import Counter
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs
from tests.crash.errand import PLANNED, lines
from tests.crash.sweeping import Sweep, by_stripe, with_keys_and_without
from tests.crash.undo_errand import DONE, STEP_OF, STEPS, done

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]


def _nothing_lost_nothing_twice(run: Killable, result: dict[str, Any]) -> None:
    assert result["last"]["status"] == "partial"
    assert result["last"]["steps"] == STEPS
    assert done(run.folder) == DONE
    ended = {key for key, status in result["before"].items() if status == "succeeded"}
    assert not ended & {STEP_OF[_value(call)] for call in result["new_calls"]}
    if f"part{PLANNED}" in result["before"] or "part.pay" in result["before"]:
        assert result["new_questions"] == []


def _value(call: str) -> str:
    return call.partition(" ")[2].replace("_", " ")


def _doubt_is_told(result: dict[str, Any]) -> None:
    """Before anybody answered, nothing was called a second time."""
    calls = Counter(result["calls_before_answers"])
    assert all(times == 1 for times in calls.values())
    assert set(result["first"]["pending"]) <= set(STEP_OF.values())


UNDOING = Sweep("undo", _nothing_lost_nothing_twice, _doubt_is_told)


@with_keys_and_without
@by_stripe
def test_killed_at_any_boundary_each_write_happens_and_is_undone_once(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    for swept in UNDOING.at_each_boundary(runs, stripe, idempotent=idempotent, beyond=60):
        assert 1 <= len(lines(swept.run.folder / "asked")) <= 1 + swept.killed


@with_keys_and_without
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    UNDOING.again_and_again(runs, idempotent=idempotent, seed=17, times=4, latest=40)
