"""What is storable JSON is found to be so quickly, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan.json_values import MAX_DEPTH, json_fault

PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(codec="ascii", exclude_characters="\x00")), inner)
    ),
)
FAULTY = [float("nan"), "a\x00", "步骤\ud800", 2**5000, b"x", {1, 2}, {1: "a"}, {"\ud800": 1}, object()]


@given(PLAIN)
def test_json_has_no_fault(value: object) -> None:
    assert json_fault(value) is None


@pytest.mark.parametrize("fault", FAULTY, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("depth", [0, 1, 2, MAX_DEPTH - 1])
def test_a_fault_is_found_at_any_depth(fault: object, depth: int) -> None:
    value = fault
    for level in range(depth):
        value = {"plain": 1, "inner": value} if level % 2 else ["步骤", value, None]
    assert json_fault(value) is not None


def test_depth_and_size_are_bounded() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert json_fault(value) is None
    assert "nested deeper" in (json_fault([value]) or "")
    assert json_fault([1, 2], max_values=3) is None
    assert "more than 2 values" in (json_fault([1, 2], max_values=2) or "")


def test_a_list_that_holds_itself_ends() -> None:
    value: list[object] = []
    value += [value] * 3
    assert "nested deeper" in (json_fault(value) or "")
