"""What registration knows of a tool: injected arguments, rules, secrets, names."""

import functools
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from pydantic import BaseModel

from graph.plan import ToolCatalog
from tests.tools.calling import registered_alone
from tools import IdempotencyKey, ToolPolicy, ToolRegistry, ToolSetupError

REFERENCE = "${s1.x}"


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
    registered = registered_alone(_everything_injected)
    assert registered.injected == INJECTED
    assert registered.key_argument == "key"
    assert list(registered.args_schema["properties"]) == ["query"]
    assert registered.args_schema["required"] == ["query"]
    assert registered.args_problems({"query": "q"}) == []
    for name in INJECTED:
        assert [at for at, _ in registered.args_problems({"query": "q", name: "forged"})] == [name]


def test_injected_arguments_behind_an_explicit_schema_are_found_too() -> None:
    def search(query: str, key: Annotated[str, IdempotencyKey]) -> str:
        return query + key

    schema = {"type": "object", "properties": {"query": {"type": "string"}, "key": {"type": "string"}}}
    registered = registered_alone(
        StructuredTool(name="search", description="d", func=search, args_schema=schema)
    )
    assert (registered.injected, registered.key_argument) == (frozenset({"key"}), "key")
    assert list(registered.args_schema["properties"]) == ["query"]


# --- rules ---


def _pay(amount: float, to: str = "customer") -> str:
    """Pay."""
    return f"{amount}{to}"


def test_a_rule_that_holds_forbids_or_asks_for_approval() -> None:
    registered = registered_alone(
        _pay, deny_when=('to == "me"',), approve_when=("amount > 100", "args.amount == 7")
    )
    assert registered.denied({"amount": 5}) is None
    assert registered.needs_approval({"amount": 5}) is None
    assert 'to == "me"' in str(registered.denied({"amount": 5, "to": "me"}))
    assert "amount > 100" in str(registered.needs_approval({"amount": 100.5}))
    assert "amount > 100" in str(registered.needs_approval({"amount": 101}))
    assert "args.amount == 7" in str(registered.needs_approval({"amount": 7}))


def test_a_rule_sees_the_default_of_an_argument_left_out() -> None:
    registered = registered_alone(_pay, deny_when=('to == "customer"',))
    assert registered.denied({"amount": 5}) is not None


def test_a_rule_that_cannot_be_evaluated_is_taken_for_one_that_holds() -> None:
    registered = registered_alone(_pay, deny_when=("amount > 100",), approve_when=("amount > 100",))
    assert "cannot be evaluated" in str(registered.denied({"amount": "much"}))
    assert "cannot be evaluated" in str(registered.needs_approval({}))


def test_text_that_looks_like_a_reference_evades_no_rule() -> None:
    registered = registered_alone(_pay, deny_when=('to != "customer"',), approve_when=('args.to == "${s1}"',))
    assert registered.denied({"amount": 5, "to": "${s1}"}) is not None
    assert registered.needs_approval({"amount": 5, "to": "${s1}"}) is not None


@pytest.mark.parametrize("rule", ["amuont > 5", "amount >", "true", ""])
def test_a_rule_that_could_never_guard_anything_is_refused(rule: str) -> None:
    with pytest.raises(ToolSetupError, match="_pay"):
        registered_alone(_pay, deny_when=(rule,))


def test_a_session_argument_the_tool_lacks_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="session"):
        registered_alone(_pay, session_arg="session")


# --- the registry itself ---


def test_secret_arguments_are_replaced_at_any_depth() -> None:
    shown = registered_alone(_pay, redact=frozenset({"to", "token"})).redacted(
        {"to": {"name": "x"}, "amount": 1, "more": [{"token": "t", "n": 1}]}
    )
    assert shown == {"to": "[redacted]", "amount": 1, "more": [{"token": "[redacted]", "n": 1}]}


def test_the_registry_is_the_plan_checks_catalog() -> None:
    catalog: ToolCatalog = ToolRegistry.of(_pay, _everything_injected)
    assert catalog.names() == ["_pay", "_everything_injected"]
    assert catalog.get("nothing") is None
    found = catalog.get("_pay")
    assert found is not None
    assert found.name == "_pay"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolSetupError, match="two tools are named '_pay'"):
        ToolRegistry.of(_pay, tool(_pay))


def test_a_policy_for_no_tool_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="_pya"):
        ToolRegistry.of(_pay, policies={"_pya": ToolPolicy()})


@pytest.mark.parametrize("thing", [7, "_pay", None, {"name": "_pay"}])
def test_something_that_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(ToolSetupError, match="is no tool"):
        ToolRegistry.of(thing)


def test_a_function_needs_no_docstring() -> None:
    def bare(x: int) -> int:
        return x

    assert ToolRegistry.of(bare)["bare"].description == "bare"


def test_a_callable_that_is_no_function_is_refused_with_the_remedy() -> None:
    with pytest.raises(ToolSetupError, match="wrap it in an annotated function"):
        ToolRegistry.of(functools.partial(_pay, to="me"))
