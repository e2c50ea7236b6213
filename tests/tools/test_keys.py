"""Idempotency keys."""

from hypothesis import given
from hypothesis import strategies as st

from tools import idempotency_key


def test_a_key_is_32_hex_digits_that_never_change() -> None:
    # A stored key: a change of this value would repeat effects of runs that are resumed after an update.
    assert (
        idempotency_key("p1", "s1", None, "pay", {"a": 1, "b": [1, 2]}) == "47a818f218b5a132fa8464b986a8ce84"
    )


def test_the_order_of_arguments_does_not_matter() -> None:
    assert idempotency_key("p", "s", None, "t", {"a": 1, "b": 2}) == idempotency_key(
        "p", "s", None, "t", {"b": 2, "a": 1}
    )


@given(
    keys=st.lists(
        st.tuples(
            st.sampled_from(["p", "ps", ""]),
            st.sampled_from(["s", "ss", ""]),
            st.sampled_from([None, 0, 1]),
            st.sampled_from(["t", "u"]),
            st.sampled_from(["1", 1, 1.0, True, None]),
        ),
        min_size=2,
        unique_by=repr,
    )
)
def test_any_difference_makes_another_key(
    keys: list[tuple[str, str, int | None, str, str | float | None]],
) -> None:
    made = {idempotency_key(plan, step, item, tool, {"x": value}) for plan, step, item, tool, value in keys}
    assert len(made) == len(keys)
