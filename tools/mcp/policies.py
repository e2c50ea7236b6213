"""What code decides about the tools of an MCP server: from their annotations, and from its configuration."""

from collections.abc import Sequence
from typing import Any

import mcp.types as mcp

from tools.hints import hinted_policy
from tools.mcp.config import ServerConfig
from tools.mcp.results import is_wrapped, unwrapped
from tools.policy import UNKNOWN_TOOL_POLICY

ALL_TOOLS = "*"


def policy_fields(tool: mcp.Tool, server: ServerConfig) -> dict[str, Any]:
    """Return the fields of a tool's `ToolPolicy`.

    Annotations come first, where the server is trusted with them; a tool without any is a risky write. What
    the configuration says of all tools is laid over that, and what it says of this one over all.
    """
    hints = tool.annotations.model_dump() if tool.annotations is not None else None
    base = (hinted_policy(hints) if server.trust_annotations else None) or UNKNOWN_TOOL_POLICY
    fields = {name: getattr(base, name) for name in base.model_fields_set}
    if tool.outputSchema is not None:
        wrapped = is_wrapped(tool.outputSchema)
        fields["output_schema"] = unwrapped(tool.outputSchema) if wrapped else tool.outputSchema
    if server.call_timeout is not None:
        fields["timeout"] = server.call_timeout
    return fields | server.policies.get(ALL_TOOLS, {}) | server.policies.get(tool.name, {})


def unused_names(server: ServerConfig, names: Sequence[str]) -> list[str]:
    """Return the names in a configuration that no tool has: what was to be guarded by them would not be."""
    given = {*server.policies, *(server.include_tools or ()), *server.exclude_tools} - {ALL_TOOLS}
    return sorted(given - set(names))
