"""Fallbacks that do not fit, and results that must not be kept, are refused when declared."""

import asyncio
from typing import Annotated, Any

import pytest

from tests.limits.support import Json
from tools import IdempotencyKey, ToolPolicy, ToolRegistry, ToolSetupError, policy


async def _nothing(sku: str) -> None:
    """Do nothing."""
    await asyncio.sleep(0)


def _two(first: Json, second: Json, other: Any = _nothing) -> None:
    async def first_one(sku: str) -> None:
        """Do nothing."""

    name = other.__name__
    policies = {"first_one": ToolPolicy(**first, fallback=name), name: ToolPolicy(**second)}
    ToolRegistry.of(first_one, other, policies=policies)


async def _other_args(item: str) -> None:
    """Do nothing."""


async def _more_args(sku: str, shop: str) -> None:
    """Do nothing."""


async def _other_type(sku: int) -> None:
    """Do nothing."""


R: Json = {"effect": "read"}
W: Json = {"effect": "write"}


@pytest.mark.parametrize(
    ("first", "second", "other", "why"),
    [
        (R, W, _nothing, "the one is a read, the other a write"),
        (W, R, _nothing, "the one is a write, the other a read"),
        (W, {**W, "risk": "high"}, _nothing, "its risk is high"),
        ({**R, "redact": {"sku"}}, R, _nothing, "does not redact 'sku'"),
        (W, {**W, "money": True}, _nothing, "it moves money"),
        (R, {**R, "grounded": {"sku"}}, _nothing, "grounds 'sku'"),
        (R, R, _other_args, "takes no argument 'sku'"),
        (R, R, _more_args, "needs 'shop'"),
        (R, R, _other_type, "'sku' is of type integer, here it is string"),
    ],
)
def test_a_fallback_that_does_not_fit_is_refused_when_tools_are_registered(
    first: Json, second: Json, other: Any, why: str
) -> None:
    with pytest.raises(ToolSetupError, match=why):
        _two(first, second, other)


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "there is no such tool"), ("_nothing", "the tool itself")]
)
def test_a_fallback_that_is_not_there_is_refused(name: str, why: str) -> None:
    with pytest.raises(ToolSetupError, match=why):
        ToolRegistry.of(_nothing, policies={"_nothing": ToolPolicy(effect="read", fallback=name)})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"effect": "write", "cache_ttl": 5}, "cache_ttl is for reads"),
        ({"effect": "write", "fallback": "stale_cache"}, "stale_cache is for reads"),
        ({"effect": "read", "cache_ttl": 0}, "greater than 0"),
        ({"effect": "read", "cache_ttl": -1}, "greater than 0"),
        ({"effect": "read", "cache_scope": "everybody"}, "cache_scope"),
    ],
)
def test_a_policy_that_keeps_what_must_not_be_kept_is_refused(fields: Json, why: str) -> None:
    with pytest.raises(ToolSetupError, match=why):
        policy(**fields)


def test_results_of_a_tool_that_is_given_more_than_its_arguments_are_not_kept() -> None:
    async def find(sku: str, key: Annotated[str, IdempotencyKey]) -> None:
        """Do nothing."""

    with pytest.raises(ToolSetupError, match="injected 'key'"):
        ToolRegistry.of(find, policies={"find": ToolPolicy(effect="read", cache_ttl=5)})
