"""A run with an agent, killed before and after each write to the journal and each effect, then resumed."""

from collections import Counter
from typing import Any

import pytest

from tests.crash.agent_errand import AFTER, EFFECT_OF, ORDER, TURNS
from tests.crash.conftest import Killable, Runs
from tests.crash.errand import effects, lines
from tests.crash.sweeping import Sweep, by_stripe, with_keys_and_without

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

WRITES = sorted(EFFECT_OF.values())


def _nothing_lost_nothing_twice(run: Killable, result: dict[str, Any]) -> None:
    assert result["last"]["status"] == "succeeded"
    assert sorted(effects(run.folder)) == WRITES
    begun = {at for at in range(len(TURNS)) if f"work#{at}" in result["before"]}
    ended = {at for at in begun if result["before"][f"work#{at}"] == "succeeded"}
    assert not {f"{TURNS[at]['tool']} {ORDER}" for at in ended} & set(result["new_calls"])
    assert not {f"turn {at}" for at in begun} & set(result["new_questions"])
    if result["before"].get("work") == "succeeded":
        assert set(result["new_questions"]) <= {AFTER}
        assert result["new_calls"] == []


def _doubt_is_told(result: dict[str, Any]) -> None:
    """Before anybody answered, no write was called a second time."""
    calls = Counter(call.split()[0] for call in result["calls_before_answers"])
    assert all(calls[tool] <= 1 for tool in EFFECT_OF)
    assert result["first"]["pending"] in ([], ["work"])


AGENT = Sweep("agent", _nothing_lost_nothing_twice, _doubt_is_told)


@with_keys_and_without
@by_stripe
def test_killed_at_any_boundary_an_agent_goes_on_where_it_was(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    for swept in AGENT.at_each_boundary(runs, stripe, idempotent=idempotent, beyond=20):
        asked = Counter(lines(swept.run.folder / "asked"))
        assert sum(asked.values()) <= len(TURNS) + 1 + swept.killed


@with_keys_and_without
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    AGENT.again_and_again(runs, idempotent=idempotent, seed=13, times=3, latest=25)
