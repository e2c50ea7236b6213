"""Digests stand for values, not for spellings."""

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, call_digest, canonical_json
from tests.plan.strategies import TEXT, VALUES


def test_equal_looking_values_of_different_types_differ() -> None:
    values: list[JSON] = [1, 1.0, "1", True, None, "null"]
    assert len({call_digest("t", {"a": value}) for value in values}) == 6
    assert call_digest("t", {}) != call_digest("u", {})


@given(st.dictionaries(TEXT, VALUES))
def test_the_order_of_keys_does_not_count(value: dict[str, JSON]) -> None:
    assert canonical_json(value) == canonical_json(dict(reversed(value.items())))
