"""The ledger under many tasks at once: what is spent and reserved never passes a limit."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.state import Price
from nodes.accounts import Account, Refused
from nodes.decide.budget import NOTHING, Limits, Used, cost_of
from nodes.ledger import Grant, Ledger, Spent

PRICE = Price(input=2.0, output=8.0)
LIMITS = st.builds(
    Limits,
    model_calls=st.none() | st.integers(0, 20),
    tokens=st.none() | st.integers(0, 3_000),
    cost=st.none() | st.floats(0, 0.02, allow_nan=False),
    tool_calls=st.none() | st.integers(0, 20),
)


@dataclass(frozen=True)
class Call:
    """One call of a task: what is estimated and wanted, and which part of it the endpoint takes."""

    tool: bool
    prompt: int
    wanted: int
    share: float
    pace: int
    lost: bool


CALLS = st.builds(
    Call,
    tool=st.booleans(),
    prompt=st.integers(1, 300),
    wanted=st.integers(1, 600),
    share=st.floats(0, 1),
    pace=st.integers(0, 4),
    lost=st.booleans(),
)


def within(limits: Limits, used: Used) -> bool:
    cost = used.cost or 0.0
    return (
        (limits.model_calls is None or used.model_calls <= limits.model_calls)
        and (limits.tokens is None or used.tokens <= limits.tokens)
        and (limits.cost is None or cost <= limits.cost + 1e-9)
        and (limits.tool_calls is None or used.tool_calls <= limits.tool_calls)
    )


async def _task(ledger: Ledger, spent: Spent, calls: list[Call], broken: list[Used]) -> bool:
    """Make calls until one is refused; True when all were made."""
    for call in calls:
        if call.tool:
            if ledger.tool_call(spent) is not None:
                return False
            await asyncio.sleep(0)
            continue
        granted = await ledger.reserve(spent, call.prompt, call.wanted, PRICE)
        if isinstance(granted, Refused):
            return False
        granted.begun = True
        for _ in range(call.pace):
            await asyncio.sleep(0)
            held = ledger.total + ledger.run.reserved
            if not within(ledger.run.limits, held):
                broken.append(held)
        _settle(granted, call)
    return True


def _settle(granted: Grant, call: Call) -> None:
    if call.lost:
        granted.close()
        return
    most = granted.max_tokens if granted.bounded else call.wanted
    output = round(most * call.share)
    granted.settle(Used(1, 0, call.prompt, output, cost_of(PRICE, call.prompt, output)))


@settings(max_examples=150, deadline=None)
@given(LIMITS, LIMITS, st.lists(st.lists(CALLS, max_size=8), min_size=8, max_size=8))
def test_eight_tasks_at_once_never_pass_a_limit(limits: Limits, own: Limits, tasks: list[list[Call]]) -> None:
    async def run() -> tuple[Ledger, list[Spent], list[bool], list[Used]]:
        ledger = Ledger(limits)
        step = replace(own, prefix="step_max_")
        spenders = [Spent(ledger, account=Account(step)) for _ in tasks]
        broken: list[Used] = []
        work = [_task(ledger, s, calls, broken) for s, calls in zip(spenders, tasks, strict=True)]
        done = await asyncio.wait_for(asyncio.gather(*work), 20)
        return ledger, spenders, done, broken

    ledger, spenders, done, broken = asyncio.run(run())

    assert broken == []
    assert within(limits, ledger.total)
    assert all(within(own, spent.used) for spent in spenders)
    assert ledger.run.reserved == NOTHING
    assert ledger.run.used.tokens == ledger.total.tokens == sum(s.used.tokens for s in spenders)
    if limits == Limits() and own == Limits():
        assert all(done)


async def test_room_that_calls_under_way_give_back_is_waited_for() -> None:
    ledger = Ledger(Limits(tokens=1_000))
    first = await ledger.reserve(Spent(ledger), 100, 500, None)
    assert isinstance(first, Grant)

    second = asyncio.ensure_future(ledger.reserve(Spent(ledger), 100, 500, None))
    await asyncio.sleep(0.01)
    assert not second.done()
    first.settle(Used(1, 0, 100, 50, None))

    granted = await second
    assert isinstance(granted, Grant)
    assert granted.max_tokens == 500


async def test_the_last_answer_is_capped_at_what_is_left() -> None:
    ledger = Ledger(Limits(tokens=300))

    granted = await ledger.reserve(Spent(ledger), 100, 4_096, None)

    assert isinstance(granted, Grant)
    assert granted.max_tokens == 200


async def test_answers_are_not_capped_where_neither_tokens_nor_cost_are_limited() -> None:
    ledger = Ledger(Limits(model_calls=3))

    granted = await ledger.reserve(Spent(ledger), 100, 4_096, None)

    assert isinstance(granted, Grant)
    assert not granted.bounded
    assert granted.need.output_tokens == 0


async def test_a_step_that_has_spent_its_own_budget_neither_waits_for_others_nor_ends_the_run() -> None:
    ledger = Ledger()
    assert isinstance(await ledger.reserve(Spent(ledger), 10, 10, None), Grant)

    refused = await ledger.reserve(
        Spent(ledger, account=Account(Limits(tokens=5, prefix="step_max_"))), 10, 10, None
    )

    assert isinstance(refused, Refused)
    assert not refused.ends_run
    assert "step_max_tokens" in refused.reason
    assert ledger.refused is None


async def test_after_the_first_refusal_of_the_run_nothing_is_granted() -> None:
    ledger = Ledger(Limits(tool_calls=0))

    refused = ledger.tool_call(Spent(ledger))
    later = await ledger.reserve(Spent(ledger), 1, 1, None)

    assert refused is not None
    assert refused.ends_run
    assert isinstance(later, Refused)
    assert ledger.refused == refused.reason == later.reason


async def test_wall_time_counts_what_was_worked_before_and_ends_the_run() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ledger = Ledger(Limits(wall_seconds=60), now=lambda: now, seconds=50)
    spent = Spent(ledger, account=Account(now=lambda: now))
    assert spent.timeout(120) == 10
    assert "max_wall_seconds" in (spent.no_time_for(10) or "")
    assert spent.no_time_for(9) is None
    assert ledger.tool_call(spent) is None

    now += timedelta(seconds=10)

    refused = ledger.tool_call(spent)
    assert refused is not None
    assert "max_wall_seconds" in refused.reason


async def test_an_endpoint_that_counts_higher_than_the_estimate_is_believed() -> None:
    ledger = Ledger()
    ledger.learn("m", 100, 150)
    ledger.learn("m", 100, 120)
    ledger.learn("other", 100, 20)

    assert ledger.scale("m") == 1.5
    assert ledger.scale("other") == 1.0
