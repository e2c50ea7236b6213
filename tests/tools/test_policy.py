"""Declaring policies."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool

from graph.plan import Risk
from tools import UNKNOWN_TOOL_POLICY, ToolPolicy, ToolRegistry, ToolSetupError, policy


def _plain() -> Any:
    @policy(effect="read", timeout=7)
    def look(x: int) -> int:
        """Look."""
        return x

    return look


def _policy_outside() -> Any:
    @policy(effect="read", timeout=7)
    @tool
    def look(x: int) -> int:
        """Look."""
        return x

    return look


def _policy_inside() -> Any:
    @tool
    @policy(effect="read", timeout=7)
    def look(x: int) -> int:
        """Look."""
        return x

    return look


def _policy_inside_async() -> Any:
    @tool
    @policy(effect="read", timeout=7)
    async def look(x: int) -> int:
        """Look."""
        return x

    return look


class _Service:
    @policy(effect="read", timeout=7)
    def look(self, x: int) -> int:
        """Look."""
        return x


def _method() -> Any:
    return _Service().look


@pytest.mark.parametrize("make", [_plain, _policy_outside, _policy_inside, _policy_inside_async, _method])
def test_a_policy_is_found_wherever_it_was_declared(make: Callable[[], Any]) -> None:
    found = ToolRegistry.of(make())["look"]
    assert (found.effect, found.policy.timeout) == ("read", 7.0)


@pytest.mark.parametrize("make", [_plain, _policy_outside, _policy_inside, _method])
def test_what_was_decorated_is_still_usable(make: Callable[[], Any]) -> None:
    look = make()
    assert (look.invoke({"x": 3}) if isinstance(look, BaseTool) else look(3)) == 3


def test_a_tool_without_a_policy_is_taken_for_the_worst() -> None:
    def anything() -> None:
        """Do anything."""

    found = ToolRegistry.of(anything)["anything"]
    assert found.policy == UNKNOWN_TOOL_POLICY
    assert (found.effect, found.policy.idempotent, found.risk) == ("write", False, Risk.HIGH)


def test_a_policy_given_at_registration_wins_over_the_declared_one() -> None:
    found = ToolRegistry.of(_plain(), policies={"look": ToolPolicy(effect="write")})["look"]
    assert found.effect == "write"


def test_the_risk_floor_follows_the_effect_unless_it_is_declared() -> None:
    assert ToolPolicy(effect="read").risk_floor is Risk.LOW
    assert ToolPolicy(effect="write").risk_floor is Risk.MEDIUM
    assert ToolPolicy(effect="read", risk=Risk.HIGH).risk_floor is Risk.HIGH


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"effect": "maybe"}, "effect"),
        ({"retries": 3}, "retries"),
        ({"risk": "extreme"}, "risk"),
        ({"output_schema": {"type": "no such type"}}, "output_schema"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ToolSetupError, match=named):
        policy(**fields)


def test_something_that_cannot_carry_a_policy_is_refused() -> None:
    with pytest.raises(ToolSetupError, match="decorate a function or a tool"):
        policy(effect="read")(len)
