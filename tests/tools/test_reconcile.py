"""Asking whether a write in doubt happened."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from graph.plan import JSON
from tools import Reconciled, ToolPolicy, ToolRegistry, reconcile


async def _ask(hook: Any, **fields: Any) -> Reconciled:
    def pay(amount: int) -> int:
        return amount

    registry = ToolRegistry.of(pay, policies={"pay": ToolPolicy(reconcile=hook, **fields)})
    return await reconcile(registry["pay"], {"amount": 5}, key="k1")


@pytest.mark.parametrize("answer", ["done", "not_done", "unknown"])
async def test_the_hooks_answer_counts_sync_or_async(answer: str) -> None:
    async def asks(key: str, args: Mapping[str, JSON]) -> str:
        assert (key, args) == ("k1", {"amount": 5})
        return answer

    assert (await _ask(asks)).happened == answer
    assert (await _ask(lambda key, args: answer)).happened == answer


async def test_a_hook_may_bring_the_output_along() -> None:
    assert await _ask(lambda key, args: ("done", {"id": (1, 2)})) == Reconciled("done", {"id": [1, 2]})


def _broken(key: str, args: Mapping[str, JSON]) -> str:
    raise ConnectionError("down")


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (None, "no reconcile hook"),
        (_broken, "ConnectionError: down"),
        (lambda key, args: "maybe", "must answer one of done, not_done, unknown"),
        (lambda key, args: None, "must answer"),
        (lambda key, args: {"done": True}, "must answer"),
        (lambda key, args: ("done", object()), "no JSON form"),
    ],
)
async def test_without_a_clear_answer_the_outcome_stays_unknown(hook: Any, message: str) -> None:
    found = await _ask(hook)
    assert found.happened == "unknown"
    assert message in found.message


async def test_a_hook_that_hangs_leaves_the_outcome_unknown() -> None:
    let_go = threading.Event()
    found = await _ask(lambda key, args: str(let_go.wait(60)), timeout=0.1)
    let_go.set()
    assert found == Reconciled("unknown", None, "the reconcile hook of pay gave no answer within 0.1 s")
