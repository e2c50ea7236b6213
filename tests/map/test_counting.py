"""How many of a map's items must succeed, and what is told of those that failed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints import StepError
from graph.plan import StepStatus
from nodes.decide.map_items import (
    Tally,
    enough,
    failures_text,
    list_fault,
    map_output,
    out_of_reach,
    shortfall,
    tally_of,
)

COUNTS = st.integers(0, 30)
WANTED = st.none() | st.integers(0, 40) | st.floats(0.01, 1.0)


def _error(code: str, message: str = "it is not there") -> StepError:
    return StepError(kind="hard", code=code, message=message)


@pytest.mark.parametrize(
    ("wanted", "succeeded", "failed", "holds"),
    [
        (None, 3, 0, True),
        (None, 3, 1, False),
        (None, 0, 0, True),
        (0, 0, 5, True),
        (2, 2, 5, True),
        (3, 2, 0, False),
        (1.0, 9, 1, False),
        (0.9, 9, 1, True),
        (0.55, 55, 45, True),
        (0.56, 55, 45, False),
        (0.5, 0, 0, True),
    ],
)
def test_min_success_is_all_or_a_number_or_a_share(
    wanted: float | None, succeeded: int, failed: int, *, holds: bool
) -> None:
    tally = Tally(succeeded + failed, succeeded=succeeded, failed=failed)
    assert enough(wanted, tally) is holds


def test_an_item_that_is_not_taken_does_not_count_against_a_share() -> None:
    assert enough(1.0, Tally(10, succeeded=2, not_taken=8))
    assert enough(None, Tally(10, not_taken=10))
    assert not enough(3, Tally(10, succeeded=2, not_taken=8))


@given(WANTED, COUNTS, COUNTS, COUNTS, COUNTS)
def test_it_is_out_of_reach_exactly_when_no_way_of_ending_is_enough(
    wanted: float | None, succeeded: int, failed: int, not_taken: int, left: int
) -> None:
    now = Tally(succeeded + failed + not_taken + left, succeeded, failed, not_taken)
    ends = [
        Tally(now.total, succeeded + more, failed + lost, not_taken + left - more - lost)
        for more in range(left + 1)
        for lost in range(left - more + 1)
    ]
    assert out_of_reach(wanted, now) is not any(enough(wanted, end) for end in ends)


def test_statuses_are_counted_and_what_has_not_begun_is_left() -> None:
    statuses = [StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.NOT_TAKEN, StepStatus.UNKNOWN]
    tally = tally_of(7, [*statuses, StepStatus.SUCCEEDED, StepStatus.RUNNING])
    assert tally == Tally(7, succeeded=2, failed=1, not_taken=1, in_doubt=1)
    assert tally.left == 3
    assert tally.to_json() == {"total": 7, "succeeded": 2, "failed": 1, "not_taken": 1}


@pytest.mark.parametrize(
    ("value", "code"),
    [("text", "not_a_list"), ({"a": 1}, "not_a_list"), (None, "not_a_list"), ([1, 2, 3], "too_many_items")],
)
def test_what_a_map_cannot_go_over_is_named(value: object, code: str) -> None:
    fault = list_fault(value, 2)  # type: ignore[arg-type]
    assert fault is not None
    assert fault[0] == code


def test_a_short_list_is_no_fault() -> None:
    assert list_fault([], 2) is None
    assert list_fault([1, 2], 2) is None


def test_the_first_failures_are_named_and_the_others_counted() -> None:
    errors = {9: _error("late"), 2: _error("not_found", "订单不存在"), 5: _error("busy"), 4: _error("bad")}
    text = failures_text(errors, 12)
    assert text.startswith("4 of 12 items failed (#2 not_found: 订单不存在; #4 bad")
    assert text.endswith("and 1 more)")


def test_a_long_message_of_an_item_is_cut() -> None:
    assert len(failures_text({0: _error("bad", "x" * 10_000)}, 1)) < 300


def test_the_reason_says_what_was_wanted_and_what_was_not_begun() -> None:
    tally = Tally(10, succeeded=2, failed=1)
    assert shortfall(None, tally, {2: _error("late")}).endswith("all must succeed; 7 were not begun")
    assert "min_success is 0.9" in shortfall(0.9, tally, {2: _error("late")})
    assert shortfall(5, Tally(3, succeeded=3), {}) == "3 of 3 succeeded; min_success is 5"


def test_results_keep_the_order_of_the_items_and_failures_name_theirs() -> None:
    output = map_output(["a", "b", "c"], [1, None, 3], {1: _error("late", "too late")})
    assert output["results"] == [1, None, 3]
    assert output["failures"] == [{"index": 1, "item": "b", "code": "late", "message": "too late"}]
