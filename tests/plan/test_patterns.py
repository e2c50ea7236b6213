"""A regular expression that comes from elsewhere finds what Python's finds, and never takes hours over it."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from graph.plan.json_schema import schema_fault, validator_of
from graph.plan.patterns import PatternError, compiled, fits, is_found
from graph.plan.templates import Param, Rule

SLOW = "^(a|aa)+$"
LONG = "a" * 60 + "!"
DRAFT = "http://json-schema.org/draft-07/schema#"
PATTERNS = ["^a", "a.b", r"\d{2,}", "^[a-c]+$", "a|b|^$", r"\w-\w", "(?=.*b)a", "^x-"]
TEXTS = st.text("abBx-12 ", max_size=8)


@given(pattern=st.sampled_from([*PATTERNS, "(?i)B"]), text=TEXTS)
def test_it_finds_what_pythons_own_finds(pattern: str, text: str) -> None:
    assert is_found(pattern, text) == (re.search(pattern, text) is not None)
    assert fits(pattern, text) == (re.fullmatch(pattern, text) is not None)


@given(
    schema=st.fixed_dictionaries(
        {},
        optional={
            "pattern": st.sampled_from(PATTERNS),
            "properties": st.dictionaries(
                st.sampled_from(["a", "x-1"]), st.sampled_from([True, {"type": "string"}])
            ),
            "patternProperties": st.dictionaries(
                st.sampled_from(PATTERNS), st.sampled_from([True, False, {"type": "string"}]), max_size=2
            ),
            "additionalProperties": st.sampled_from([True, False, {"type": "number"}]),
        },
    ),
    value=TEXTS | st.dictionaries(TEXTS, st.integers(0, 9) | TEXTS, max_size=4) | st.none(),
)
def test_a_schema_judges_as_jsonschemas_own_does(schema: dict[str, Any], value: Any) -> None:
    own = Draft202012Validator(schema)
    ours = validator_of(schema)
    assert ours.is_valid(value) == own.is_valid(value)
    assert {error.json_path for error in ours.iter_errors(value)} == {
        error.json_path for error in own.iter_errors(value)
    }


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": SLOW}, LONG),
        ({"patternProperties": {SLOW: {}}}, {LONG: 1}),
        ({"additionalProperties": False, "patternProperties": {SLOW: {}}}, {LONG: 1}),
        ({"properties": {"a": {"items": {"pattern": SLOW}}}}, {"a": [LONG]}),
        ({"items": {"$schema": DRAFT, "pattern": SLOW}}, [LONG]),
        ({"properties": {"default": {"$schema": DRAFT, "pattern": SLOW}}}, {"default": LONG}),
        ({"not": {"pattern": SLOW}}, LONG),
        ({"if": {"pattern": SLOW}, "then": False}, LONG),
        ({"items": {"pattern": SLOW}}, [LONG] * 100),
        ({"$schema": DRAFT, "pattern": SLOW, "items": {"$ref": "#"}}, [LONG]),
    ],
)
def test_a_value_over_which_a_pattern_takes_too_long_does_not_fit(schema: dict[str, Any], value: Any) -> None:
    began = time.monotonic()
    told = [error.message for error in validator_of(schema).iter_errors(value)]
    assert any(SLOW in each and "takes too long over this text" in each for each in told)
    assert not validator_of(schema).is_valid(value)
    assert time.monotonic() - began < 60, "the search was not ended"


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^item-{i}$", "item-99"),
        ("^x{d}$", ""),
        ("^x{e<=2}$", "yy"),
        (r"^\{a}[{]b{2}$", "{a}{bb"),
        ("^[[:alpha:]]$", "q"),
        ("^[[:alpha:]]$", "a]"),
        ("^[]a[]$", "["),
        ("^[^]a]$", "b"),
        ("a{1,2}b{,3}c{2}", "abcc"),
        (r"\[[a]", "[a"),
    ],
)
def test_what_only_the_other_engine_knows_is_literal(pattern: str, text: str) -> None:
    assert is_found(pattern, text) == (re.search(pattern, text) is not None)
    assert fits(pattern, text) == (re.fullmatch(pattern, text) is not None)


def test_what_cannot_be_searched_in_time_is_no_schema() -> None:
    assert "use additionalProperties" in str(
        schema_fault({"allOf": [{"patternProperties": {"a": {}}}], "unevaluatedProperties": False})
    )


def test_a_parameter_over_which_its_pattern_takes_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="takes too long over this text"):
        Param(pattern=SLOW).read(LONG)


def test_a_rule_that_takes_too_long_over_a_goal_does_not_fit_it() -> None:
    assert Rule(regex=SLOW).captures(LONG) is None
    assert Rule(regex=SLOW).captures("aaa") == {}


@pytest.mark.parametrize(
    "bad", ["(", "a{99999999999}", "(" * 5000 + ")" * 5000, "(?P<1>a)", "(?V1)a", "(?au)a"]
)
def test_what_is_no_regular_expression_is_said_to_be_none(bad: str) -> None:
    with pytest.raises(PatternError, match="is no regular expression"):
        compiled(bad)


def test_what_looks_like_a_dialect_in_a_value_is_no_dialect() -> None:
    value = {"$schema": "x"}
    for schema in ({"const": value}, {"properties": {"a": {"enum": [value]}}}, {"required": ["$schema"]}):
        given = {"a": value} if "properties" in schema else value
        assert validator_of(schema).is_valid(given)
    named: dict[str, Any] = {"properties": {"$schema": {"type": "string"}}}
    assert not validator_of(named).is_valid({"$schema": 1})
