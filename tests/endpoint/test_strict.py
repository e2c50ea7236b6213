"""The strict form of a schema asks for the same answers, with null for what is left out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nodes.endpoint.strict import strict_form, without_absent
from tests.endpoint.test_plan_schema import DOCUMENTED, schemas

Json = dict[str, Any]
NAMES = st.sampled_from(["a", "b", "c", "名"])
SCALARS: st.SearchStrategy[Json] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": "boolean", "default": True},
        {"type": "string", "enum": ["x", "y"], "title": "T"},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"const": 3},
    ]
)


def _objects(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    properties = st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    return st.tuples(properties, st.sets(NAMES)).map(
        lambda made: {
            "type": "object",
            "properties": made[0],
            "required": sorted(made[1] & made[0].keys()),
        }
    )


SCHEMAS = _objects(
    st.recursive(
        SCALARS,
        lambda inner: _objects(inner) | inner.map(lambda items: {"type": "array", "items": items}),
        max_leaves=6,
    )
)


def answers(schema: Json) -> st.SearchStrategy[Any]:
    """Values that fit a strict schema."""
    if "anyOf" in schema:
        return st.one_of([answers(branch) for branch in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    if schema["type"] == "object":
        return st.fixed_dictionaries({name: answers(part) for name, part in schema["properties"].items()})
    if schema["type"] == "array":
        return st.lists(answers(schema["items"]), max_size=2)
    plain = {"string": st.text(), "integer": st.integers(0, 9), "boolean": st.booleans(), "null": st.none()}
    return plain[schema["type"]]


@given(SCHEMAS, st.data())
def test_an_answer_to_the_strict_form_fits_the_schema_once_nulls_are_taken_as_absent(
    schema: Json, data: st.DataObject
) -> None:
    strict = strict_form(schema)
    assert strict is not None
    for part in schemas(strict):
        assert part.keys() <= DOCUMENTED
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
    answer = data.draw(answers(strict))
    assert Draft202012Validator(strict).is_valid(answer)
    assert Draft202012Validator(schema).is_valid(without_absent(answer, schema))


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        },
        {"anyOf": [{"type": "object", "properties": {}}]},
    ],
)
def test_what_the_strict_subset_cannot_say_has_no_strict_form(schema: Json) -> None:
    assert strict_form(schema) is None
