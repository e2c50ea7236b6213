"""A run with an agent, killed before and after each write to the journal and each effect, then resumed."""

from collections import Counter
from itertools import count
from random import Random
from typing import Any

import pytest

from tests.crash.agent_errand import AFTER, EFFECT_OF, ORDER, TURNS
from tests.crash.conftest import Killable, Runs
from tests.crash.errand import effects, lines

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

STRIPES = 2
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


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
@pytest.mark.parametrize("stripe", range(STRIPES))
def test_killed_at_any_boundary_an_agent_goes_on_where_it_was(
    runs: Runs, stripe: int, *, idempotent: bool
) -> None:
    doubts = 0
    for boundary in count(1 + stripe, STRIPES * (3 if idempotent else 1)):
        run = runs.fresh(idempotent=idempotent, kind="agent")
        killed = run.killed(kill_at=boundary)
        result = run.to_the_end() if killed else run.result()

        _nothing_lost_nothing_twice(run, result)
        if not idempotent:
            _doubt_is_told(result)
        doubts += len(result["first"]["pending"])
        asked = Counter(lines(run.folder / "asked"))
        assert sum(asked.values()) <= len(TURNS) + 1 + killed
        if not killed:
            break
    assert boundary > 20
    assert bool(doubts) is not idempotent


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_again_and_again_while_it_is_resumed(runs: Runs, *, idempotent: bool) -> None:
    chance = Random(13)
    for _ in range(3):
        run = runs.fresh(idempotent=idempotent, kind="agent")
        for _ in range(4):
            run.killed(kill_at=chance.randint(1, 25))
        result = run.to_the_end()

        _nothing_lost_nothing_twice(run, result)
        if not idempotent:
            _doubt_is_told(result)
