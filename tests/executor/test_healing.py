"""Which parts of results a lost reference may have meant."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import Scope, read_expression, resolve
from nodes.decide.healing import MOST_PATHS, failing, healed_by, healed_values, healing_schema, paths_in

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
RESULTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
)
IDS = st.sampled_from(["s1", "look it up", "步骤"])


@given(st.dictionaries(IDS, RESULTS, max_size=3))
def test_every_path_leads_somewhere(results: dict[str, Any]) -> None:
    scope = Scope(results)
    paths = paths_in(results)

    assert len(paths) <= MOST_PATHS
    for path in paths:
        resolve(f"${{{path}}}", scope)


@given(st.dictionaries(st.just("s1"), RESULTS, min_size=1), st.data())
def test_a_healed_reference_is_a_part_of_the_results(results: dict[str, Any], data: st.DataObject) -> None:
    paths = paths_in(results)
    lost = failing((read_expression("s1.no.such.path"),), Scope(results))
    assert list(lost) == ["s1.no.such.path"]
    schema = healing_schema(lost, paths, by_value=False)
    choice = data.draw(st.sampled_from(schema["properties"]["r1"]["enum"]))

    healed, fault = healed_by({"r1": choice}, lost, results, by_value=False)

    assert fault is None
    values = healed_values(healed, Scope(results))
    if choice is None:
        assert values == {}
    else:
        assert resolve("${s1.no.such.path}", Scope(results, healed=values)) == resolve(
            f"${{{choice}}}", Scope(results)
        )


def test_a_missing_dependency_stays_null_and_is_not_healed() -> None:
    expression = read_expression("s1.x")

    assert failing((expression,), Scope({}, absent=frozenset({"s1"}))) == {}
    assert list(failing((expression,), Scope({"s1": {}}))) == ["s1.x"]
