"""The pure part of the budgets: estimates, room, and what a call is charged."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.state import Price
from nodes.decide.budget import (
    NOTHING,
    Limits,
    Used,
    actual_use,
    call_need,
    cost_of,
    estimated_tokens,
    lacking,
    output_room,
    told_spent,
    unanswered_use,
)

COUNTS = st.integers(0, 10_000)
USED = st.builds(
    Used, COUNTS, COUNTS, COUNTS, COUNTS, st.none() | st.floats(0, 100, allow_nan=False), st.booleans()
)
PRICE = Price(input=1.0, output=4.0)


@given(USED, USED)
def test_a_sum_is_the_same_in_any_order_and_survives_json(one: Used, other: Used) -> None:
    assert one + other == other + one
    assert one + NOTHING == one
    assert Used.from_json((one + other).to_json()) == one + other


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=8))
def test_reservations_taken_back_leave_exactly_nothing(calls: list[tuple[int, int]]) -> None:
    needs = [call_need(prompt, output, PRICE) for prompt, output in calls]
    left = sum(needs, NOTHING)

    for need in needs:
        left = left.without(need)

    assert left == NOTHING


@pytest.mark.parametrize(
    ("limits", "need", "expected"),
    [
        (Limits(), Used(9, 9, 9, 9, 9.0), None),
        (Limits(model_calls=1), Used(model_calls=1), None),
        (Limits(model_calls=0), Used(model_calls=1), "model_calls"),
        (Limits(model_calls=0), Used(tool_calls=1), None),
        (Limits(tool_calls=0), Used(tool_calls=1), "tool_calls"),
        (Limits(tokens=9), Used(input_tokens=5, output_tokens=5), "tokens"),
        (Limits(cost=0.3), Used(cost=0.1 + 0.2), None),
        (Limits(cost=0.3), Used(cost=0.31), "cost"),
    ],
)
def test_what_lacks_room_is_named(limits: Limits, need: Used, expected: str | None) -> None:
    assert lacking(limits, NOTHING, NOTHING, need) == expected


def test_reserved_and_spent_count_alike() -> None:
    limits = Limits(model_calls=2)

    assert lacking(limits, Used(1), NOTHING, Used(1)) is None
    assert lacking(limits, Used(1), Used(1), Used(1)) == "model_calls"


@given(COUNTS, COUNTS, COUNTS, st.integers(1, 5_000), st.floats(0.0001, 0.1))
def test_an_answer_is_never_granted_more_than_fits(
    spent: int, reserved: int, prompt: int, wanted: int, cost: float
) -> None:
    limits = Limits(tokens=12_000, cost=cost)
    before = call_need(spent, 0, PRICE)
    held = call_need(reserved, 0, PRICE)

    room = output_room(limits, before, held, prompt_tokens=prompt, price=PRICE, wanted=wanted)

    assert 0 <= room <= wanted
    if room:
        assert lacking(limits, before, held, call_need(prompt, room, PRICE)) is None
    if room < wanted:
        assert lacking(limits, before, held, call_need(prompt, room + 1, PRICE)) is not None


@given(st.text())
def test_a_text_is_at_least_a_quarter_of_its_length_in_tokens(text: str) -> None:
    assert len(text) / 4 <= estimated_tokens(text) <= len(text)


def test_chinese_and_digits_count_by_the_character() -> None:
    assert estimated_tokens("查询订单") == 4
    assert estimated_tokens("A1234") == 5
    assert estimated_tokens("query the order") == 4


def test_a_missing_count_is_a_marked_guess_and_a_missing_price_an_unknown_cost() -> None:
    assert actual_use((10, 5), (7, 7), PRICE) == Used(1, 0, 10, 5, 0.00003, estimated=False)
    assert actual_use((None, None), (7, 3), PRICE) == Used(1, 0, 7, 3, 0.000019, estimated=True)
    assert actual_use((10, 5), (7, 7), None).cost is None
    assert cost_of(PRICE, 1_000_000, 500_000) == 3.0


def test_an_error_response_costs_a_call_and_no_tokens() -> None:
    need = call_need(100, 50, PRICE)

    assert unanswered_use(need, may_have_worked=False) == Used(model_calls=1)
    assert unanswered_use(need, may_have_worked=True) == need


def test_the_sentence_names_the_setting_and_its_value() -> None:
    assert "5 model calls (max_model_calls)" in told_spent(Limits(model_calls=5), "model_calls")
    assert "step_max_tokens" in told_spent(Limits(tokens=5, prefix="step_max_"), "tokens")


@given(st.floats(0, inf, allow_nan=False, exclude_max=True))
def test_an_unknown_cost_stays_unknown(cost: float) -> None:
    assert (Used(cost=None) + Used(cost=cost)).cost is None
