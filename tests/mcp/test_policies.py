"""What a server says of its tools, and what its configuration does, as policies."""

import sys
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langchain_mcp_adapters.client import MultiServerMCPClient

from graph.plan import Risk
from tests.mcp.support import OFFICE, call, odd, office, only
from tools import UNKNOWN_TOOL_POLICY, CallSucceeded, ToolLoadError, ToolPolicy, ToolRegistry, policy
from tools.hints import hinted_policy
from tools.mcp import mcp_tools

READ = ToolPolicy(effect="read")


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (None, None),
        ({}, None),
        ({"title": "X", "openWorldHint": True}, None),
        ({"readOnlyHint": None, "destructiveHint": None}, None),
        ({"readOnlyHint": True}, READ),
        ({"readOnlyHint": True, "destructiveHint": False, "idempotentHint": False}, READ),
        ({"readOnlyHint": True, "destructiveHint": True}, UNKNOWN_TOOL_POLICY),
        ({"readOnlyHint": False}, ToolPolicy(risk=Risk.HIGH)),
        ({"destructiveHint": True}, ToolPolicy(risk=Risk.HIGH)),
        ({"destructiveHint": False}, ToolPolicy()),
        ({"destructiveHint": False, "idempotentHint": True}, ToolPolicy(idempotent=True)),
        ({"destructiveHint": True, "idempotentHint": True}, ToolPolicy(idempotent=True, risk=Risk.HIGH)),
        ({"idempotentHint": True}, ToolPolicy(idempotent=True, risk=Risk.HIGH)),
        ({"readOnlyHint": "true"}, None),
        ({"readOnlyHint": 1, "destructiveHint": False}, ToolPolicy()),
    ],
)
def test_hints_become_a_policy(hints: dict[str, Any] | None, expected: ToolPolicy | None) -> None:
    assert hinted_policy(hints) == expected


def _told(registry: ToolRegistry) -> dict[str, tuple[str, bool, Risk]]:
    return {name: (tool.effect, tool.policy.idempotent, tool.risk) for name, tool in registry.items()}


EXPECTED = {
    "find_order": ("read", False, Risk.LOW),
    "save": ("write", True, Risk.MEDIUM),
    "append": ("write", False, Risk.MEDIUM),
    "wipe": ("write", False, Risk.HIGH),
    "mystery": ("write", False, Risk.HIGH),
}


async def test_annotations_of_a_real_server_become_policies_and_a_tool_without_any_is_a_risky_write() -> None:
    async with mcp_tools({"office": office(include_tools=list(EXPECTED))}) as tools:
        assert _told(ToolRegistry.of(*tools)) == EXPECTED


async def test_langchains_own_tools_of_mcp_servers_have_the_same_policies() -> None:
    client = MultiServerMCPClient(
        {"office": {"transport": "stdio", "command": sys.executable, "args": [OFFICE]}}
    )
    listed = [tool for tool in await client.get_tools() if tool.name in EXPECTED]
    registry = ToolRegistry.of(*listed)
    assert _told(registry) == EXPECTED
    assert await call(registry["find_order"], number="A1") == CallSucceeded({"number": "A1", "amount": 19.9})


def test_a_policy_that_was_declared_outweighs_hints() -> None:
    hinted = StructuredTool.from_function(lambda: 1, name="hinted", description="d")
    hinted.metadata = {"readOnlyHint": True}
    assert ToolRegistry.of(hinted)["hinted"].effect == "read"
    assert ToolRegistry.of(hinted, policies={"hinted": ToolPolicy()})["hinted"].effect == "write"
    assert ToolRegistry.of(policy(effect="write")(hinted))["hinted"].effect == "write"


async def test_a_server_that_is_not_trusted_has_only_risky_writes() -> None:
    entry = office(include_tools=["find_order", "save"], trust_annotations=False)
    entry["policies"] = {"save": {"idempotent": True, "risk": "low"}}
    async with mcp_tools({"office": entry}) as tools:
        assert _told(ToolRegistry.of(*tools)) == {
            "find_order": ("write", False, Risk.HIGH),
            "save": ("write", True, Risk.LOW),
        }


async def test_the_configuration_has_the_last_word() -> None:
    entry = office(
        exclude_tools=["wipe"],
        call_timeout=99,
        policies={
            "*": {"max_attempts": 7},
            "find_order": {"timeout": 5, "redact": ["number"]},
            "save": {"risk": "high", "approve_when": ['text == "x"'], "max_attempts": 1},
        },
    )
    async with mcp_tools({"office": entry}) as tools:
        registry = ToolRegistry.of(*tools)
    assert "wipe" not in registry
    find, save, append = (registry[name].policy for name in ("find_order", "save", "append"))
    assert (find.effect, find.timeout, find.max_attempts, find.redact) == (
        "read",
        5,
        7,
        frozenset({"number"}),
    )
    assert (save.effect, save.idempotent, save.risk, save.max_attempts) == ("write", True, Risk.HIGH, 1)
    assert registry["save"].needs_approval({"text": "x"})
    assert (append.timeout, append.max_attempts) == (99, 7)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"policies": {"goood": {"effect": "read"}}}, "'odd' has no tool 'goood' to configure; it has: good"),
        ({"include_tools": ["goood"]}, "has no tool 'goood'"),
        ({"exclude_tools": ["goood"]}, "has no tool 'goood'"),
        ({"policies": {"good": {"efect": "read"}}}, "'odd', tool 'good': .*efect: Extra inputs"),
        ({"policies": {"good": {"effect": "maybe"}}}, "effect: Input should be"),
        ({"policies": {"good": {"deny_when": ["txet == 1"]}}}, "'txet', which is no argument"),
        ({"policies": {"*": {"timeout": -1}}}, "timeout: Input should be greater than 0"),
    ],
)
async def test_a_configuration_that_would_guard_nothing_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolLoadError, match=words):
        async with mcp_tools({"odd": odd("well", **more)}):
            pass


async def test_tools_of_one_name_are_told_apart_by_a_prefix_or_refused() -> None:
    with pytest.raises(
        ToolLoadError, match="'a' and 'b' both have a tool 'good': give one of them a \"prefix\""
    ):
        async with mcp_tools({"a": odd("well"), "b": odd("well")}):
            pass
    servers = {"a": odd("well"), "b": odd("well", prefix=True), "c": odd("well", prefix="see.")}
    async with mcp_tools(servers) as tools:
        assert [tool.name for tool in tools] == ["good", "b_good", "see.good"]
        registry = ToolRegistry.of(*tools)
        assert await call(registry["see.good"], text="a") == CallSucceeded("a")


async def test_secrets_of_the_configuration_stay_out_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "sesame-open")
    entry = office(
        include_tools=["tell_environment"],
        env={"API_KEY": "${TOKEN}", "FOLDER": "/data/files"},
    )
    async with mcp_tools({"office": entry}) as tools:
        tool = only(tools)
        assert await call(tool, name="API_KEY") == CallSucceeded("[redacted]")
        assert await call(tool, name="FOLDER") == CallSucceeded("/data/files")
        assert await call(tool, name="TOKEN") == CallSucceeded("not set")
