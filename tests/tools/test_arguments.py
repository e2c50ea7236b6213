"""Judging and decoding a call's arguments."""

from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from graph.plan import JSON
from tests.tools.calling import registered_alone
from tools import RegisteredTool

REFERENCE = "${s1.x}"


class Slot(BaseModel):
    """A time slot."""

    start: date


def book(slot: Slot, tags: list[str], n: int = 1, note: str = "", maybe: Slot | None = None) -> str:
    """Book a slot."""
    return f"{slot}{tags}{n}{note}{maybe}"


BOOK_SCHEMA = {
    "type": "object",
    "properties": {
        "slot": {"$ref": "#/$defs/Slot"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "n": {"type": "integer"},
        "note": {"type": "string"},
    },
    "required": ["slot", "tags"],
    "$defs": {"Slot": {"type": "object", "properties": {"start": {"type": "string"}}, "required": ["start"]}},
}


def _remote() -> RegisteredTool:
    def run(**args: Any) -> str:
        return str(args)

    return registered_alone(
        StructuredTool(name="book", description="Book.", func=run, args_schema=BOOK_SCHEMA)
    )


BOTH_KINDS = pytest.mark.parametrize("booking", [registered_alone(book), _remote()], ids=["model", "schema"])


def _named(problems: list[tuple[str, str]]) -> set[str]:
    return {name for name, _ in problems}


@BOTH_KINDS
def test_json_text_is_decoded_where_and_only_where_a_structure_is_wanted(booking: RegisteredTool) -> None:
    args: dict[str, JSON] = {
        "slot": '{"start": "2026-01-01"}',
        "tags": '["a"]',
        "n": 3,
        "note": '{"a": 1}',
    }
    decoded = booking.decode_args(args)
    assert decoded == {"slot": {"start": "2026-01-01"}, "tags": ["a"], "n": 3, "note": '{"a": 1}'}
    assert booking.args_problems(args) == []


def test_an_optional_structure_is_decoded_too() -> None:
    decoded = registered_alone(book).decode_args({"maybe": '{"start": "2026-01-01"}'})
    assert decoded == {"maybe": {"start": "2026-01-01"}}


def test_structures_inside_structures_are_decoded() -> None:
    def plan(days: list[Slot], by_name: dict[str, list[int]]) -> str:
        return f"{days}{by_name}"

    decoded = registered_alone(plan).decode_args(
        {"days": ['{"start": "2026-01-01"}'], "by_name": {"a": "[1]"}}
    )
    assert decoded == {"days": [{"start": "2026-01-01"}], "by_name": {"a": [1]}}


@BOTH_KINDS
@pytest.mark.parametrize("text", ["not json", '"text"', "3", "null", "{", "[NaN]", "[" * 100_000, '{"a":1}'])
def test_text_that_is_not_the_wanted_structure_stays_and_is_a_problem(
    booking: RegisteredTool, text: str
) -> None:
    args: dict[str, JSON] = {"slot": {"start": "2026-01-01"}, "tags": text}
    assert booking.decode_args(args)["tags"] == text
    assert _named(booking.args_problems(args)) == {"tags"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(args=st.dictionaries(st.sampled_from(["slot", "tags", "n", "note", "why"]), json_values))
def test_decoding_twice_changes_nothing_and_judging_never_fails(args: dict[str, JSON]) -> None:
    for booking in (registered_alone(book), _remote()):
        once = booking.decode_args(args)
        assert booking.decode_args(once) == once
        assert all(isinstance(message, str) for _, message in booking.args_problems(args))


@given(text=st.text())
def test_text_that_the_tool_wants_as_text_is_never_touched(text: str) -> None:
    assert registered_alone(book).decode_args({"note": text}) == {"note": text}


@BOTH_KINDS
def test_unknown_missing_and_wrong_arguments_are_named(booking: RegisteredTool) -> None:
    problems = dict(booking.args_problems({"tag": ["a"], "n": "three", "tags": ["a", 7]}))
    assert "did you mean 'tags'?" in problems["tag"]
    assert problems["slot"] == "Field required"
    assert "integer" in problems["n"]
    assert problems["tags"].startswith("1: ")


@BOTH_KINDS
def test_problems_never_show_the_value(booking: RegisteredTool) -> None:
    problems = booking.args_problems({"slot": "hunter2", "tags": "hunter2", "n": "hunter2"})
    assert len(problems) == 3
    assert "hunter2" not in str(problems)


@BOTH_KINDS
def test_a_whole_reference_may_become_anything(booking: RegisteredTool) -> None:
    assert (
        booking.args_problems({"slot": REFERENCE, "tags": REFERENCE, "n": REFERENCE, "note": REFERENCE}) == []
    )
    assert booking.args_problems({"slot": {"start": REFERENCE}, "tags": [REFERENCE]}) == []


@BOTH_KINDS
def test_text_with_a_reference_in_it_is_text(booking: RegisteredTool) -> None:
    mixed = f"about {REFERENCE}"
    args: dict[str, JSON] = {"slot": {"start": REFERENCE}, "tags": [mixed], "note": mixed}
    assert booking.args_problems(args) == []
    assert _named(booking.args_problems({**args, "tags": mixed})) == {"tags"}
    assert _named(booking.args_problems({**args, "n": mixed})) == {"n"}


def test_text_with_a_reference_in_it_may_still_become_one_of_the_allowed_words() -> None:
    def send(channel: Literal["mail-work", "mail-home"], on: date) -> str:
        return f"{channel}{on}"

    assert (
        registered_alone(send).args_problems({"channel": f"mail-{REFERENCE}", "on": f"2026-{REFERENCE}"})
        == []
    )


@BOTH_KINDS
def test_a_missing_argument_beside_references_is_still_missing(booking: RegisteredTool) -> None:
    assert _named(booking.args_problems({"slot": {}, "tags": REFERENCE})) == {"slot"}


def test_a_model_that_allows_more_takes_more() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int

    def take(**args: Any) -> str:
        return str(args)

    registered = registered_alone(StructuredTool.from_function(take, args_schema=Open, description="d"))
    assert registered.args_problems({"x": 1, "y": 2}) == []


def test_an_argument_may_be_given_by_its_alias_or_its_name() -> None:
    class Query(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        text: str = Field(alias="q")

    def search(text: str) -> str:
        return text

    registered = registered_alone(StructuredTool.from_function(search, args_schema=Query, description="d"))
    assert registered.args_problems({"q": "x"}) == []
    assert registered.args_problems({"text": "x"}) == []
