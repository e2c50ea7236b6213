"""What registration knows of a tool's arguments: known case D05, injected arguments, rules, secrets."""

import functools
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel, ConfigDict, Field

from graph.plan import JSON, ToolCatalog
from tools import IdempotencyKey, RegisteredTool, ToolPolicy, ToolRegistry, ToolSetupError
from tools.registration import AnyTool

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


def _one(item: AnyTool, **fields: Any) -> RegisteredTool:
    name = str(getattr(item, "name", None) or getattr(item, "__name__", ""))
    return ToolRegistry.of(item, policies={name: ToolPolicy(**fields)})[name]


def _remote() -> RegisteredTool:
    def run(**args: Any) -> str:
        return str(args)

    return _one(StructuredTool(name="book", description="Book.", func=run, args_schema=BOOK_SCHEMA))


BOTH_KINDS = pytest.mark.parametrize("booking", [_one(book), _remote()], ids=["model", "schema"])


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
    decoded = _one(book).decode_args({"maybe": '{"start": "2026-01-01"}'})
    assert decoded == {"maybe": {"start": "2026-01-01"}}


def test_structures_inside_structures_are_decoded() -> None:
    def plan(days: list[Slot], by_name: dict[str, list[int]]) -> str:
        return f"{days}{by_name}"

    decoded = _one(plan).decode_args({"days": ['{"start": "2026-01-01"}'], "by_name": {"a": "[1]"}})
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
    for booking in (_one(book), _remote()):
        once = booking.decode_args(args)
        assert booking.decode_args(once) == once
        assert all(isinstance(message, str) for _, message in booking.args_problems(args))


@given(text=st.text())
def test_text_that_the_tool_wants_as_text_is_never_touched(text: str) -> None:
    assert _one(book).decode_args({"note": text}) == {"note": text}


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

    assert _one(send).args_problems({"channel": f"mail-{REFERENCE}", "on": f"2026-{REFERENCE}"}) == []


@BOTH_KINDS
def test_a_missing_argument_beside_references_is_still_missing(booking: RegisteredTool) -> None:
    assert _named(booking.args_problems({"slot": {}, "tags": REFERENCE})) == {"slot"}


def test_a_model_that_allows_more_takes_more() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        x: int

    def take(**args: Any) -> str:
        return str(args)

    registered = _one(StructuredTool.from_function(take, args_schema=Open, description="d"))
    assert registered.args_problems({"x": 1, "y": 2}) == []


def test_an_argument_may_be_given_by_its_alias_or_its_name() -> None:
    class Query(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        text: str = Field(alias="q")

    def search(text: str) -> str:
        return text

    registered = _one(StructuredTool.from_function(search, args_schema=Query, description="d"))
    assert registered.args_problems({"q": "x"}) == []
    assert registered.args_problems({"text": "x"}) == []


class _State(BaseModel):
    x: int


def _everything_injected(
    query: str,
    *,
    key: Annotated[str, IdempotencyKey],
    state: Annotated[_State, InjectedState],
    store: Annotated[Any, InjectedStore()],
    runtime: ToolRuntime,
    user: Annotated[str, InjectedToolArg],
    config: RunnableConfig,
) -> str:
    """Search."""
    return f"{query}{key}{state}{store}{runtime}{user}{config}"


INJECTED = frozenset({"key", "state", "store", "runtime", "user", "config"})


def test_injected_arguments_are_hidden_from_models_and_refused_from_plans() -> None:
    registered = _one(_everything_injected)
    assert registered.injected == INJECTED
    assert registered.key_argument == "key"
    assert list(registered.args_schema["properties"]) == ["query"]
    assert registered.args_schema["required"] == ["query"]
    assert registered.args_problems({"query": "q"}) == []
    for name in INJECTED:
        assert _named(registered.args_problems({"query": "q", name: "forged"})) == {name}


def test_injected_arguments_behind_an_explicit_schema_are_found_too() -> None:
    def search(query: str, key: Annotated[str, IdempotencyKey]) -> str:
        return query + key

    schema = {"type": "object", "properties": {"query": {"type": "string"}, "key": {"type": "string"}}}
    registered = _one(StructuredTool(name="search", description="d", func=search, args_schema=schema))
    assert (registered.injected, registered.key_argument) == (frozenset({"key"}), "key")
    assert list(registered.args_schema["properties"]) == ["query"]


# --- rules ---


def _pay(amount: float, to: str = "customer") -> str:
    """Pay."""
    return f"{amount}{to}"


def test_a_rule_that_holds_forbids_or_asks_for_approval() -> None:
    registered = _one(_pay, deny_when=('to == "me"',), approve_when=("amount > 100", "args.amount == 7"))
    assert registered.denied({"amount": 5}) is None
    assert registered.needs_approval({"amount": 5}) is None
    assert 'to == "me"' in str(registered.denied({"amount": 5, "to": "me"}))
    assert "amount > 100" in str(registered.needs_approval({"amount": 100.5}))
    assert "amount > 100" in str(registered.needs_approval({"amount": 101}))
    assert "args.amount == 7" in str(registered.needs_approval({"amount": 7}))


def test_a_rule_sees_the_default_of_an_argument_left_out() -> None:
    registered = _one(_pay, deny_when=('to == "customer"',))
    assert registered.denied({"amount": 5}) is not None


def test_a_rule_that_cannot_be_evaluated_is_taken_for_one_that_holds() -> None:
    registered = _one(_pay, deny_when=("amount > 100",), approve_when=("amount > 100",))
    assert "cannot be evaluated" in str(registered.denied({"amount": "much"}))
    assert "cannot be evaluated" in str(registered.needs_approval({}))


def test_a_rule_over_a_reference_waits_for_its_value() -> None:
    registered = _one(_pay, deny_when=("amount > 100", "args.amount > 100", 'to == "me"'))
    assert registered.denied({"amount": REFERENCE}) is None
    assert 'to == "me"' in str(registered.denied({"amount": REFERENCE, "to": "me"}))


@pytest.mark.parametrize("rule", ["amuont > 5", "amount >", "true", ""])
def test_a_rule_that_could_never_guard_anything_is_refused(rule: str) -> None:
    with pytest.raises(ToolSetupError, match="_pay"):
        _one(_pay, deny_when=(rule,))


def test_a_session_argument_the_tool_lacks_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="session"):
        _one(_pay, session_arg="session")


# --- the registry itself ---


def test_secret_arguments_are_replaced_at_any_depth() -> None:
    shown = _one(_pay, redact=frozenset({"to", "token"})).redacted(
        {"to": {"name": "x"}, "amount": 1, "more": [{"token": "t", "n": 1}]}
    )
    assert shown == {"to": "[redacted]", "amount": 1, "more": [{"token": "[redacted]", "n": 1}]}


def test_the_registry_is_the_plan_checks_catalog() -> None:
    catalog: ToolCatalog = ToolRegistry.of(book, _pay)
    assert catalog.names() == ["book", "_pay"]
    assert catalog.get("nothing") is None
    found = catalog.get("book")
    assert found is not None
    assert found.name == "book"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolSetupError, match="two tools are named 'book'"):
        ToolRegistry.of(book, tool(book))


def test_a_policy_for_no_tool_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="bok"):
        ToolRegistry.of(book, policies={"bok": ToolPolicy()})


@pytest.mark.parametrize("thing", [7, "book", None, {"name": "book"}])
def test_something_that_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(ToolSetupError, match="is no tool"):
        ToolRegistry.of(thing)


def test_a_function_needs_no_docstring() -> None:
    def bare(x: int) -> int:
        return x

    assert ToolRegistry.of(bare)["bare"].description == "bare"


def test_a_callable_that_is_no_function_is_refused_with_the_remedy() -> None:
    with pytest.raises(ToolSetupError, match="wrap it in an annotated function"):
        ToolRegistry.of(functools.partial(book, n=3))
