"""What a tool's MCP annotations say of it, as a policy."""

from collections.abc import Mapping
from typing import Any

from graph.plan import Risk
from tools.policy import UNKNOWN_TOOL_POLICY, ToolPolicy

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint")


def hinted_policy(hints: Mapping[str, Any] | None) -> ToolPolicy | None:
    """Return the policy that annotations stand for, None when there are none.

    `readOnlyHint` makes a read. All else is a write: idempotent with `idempotentHint`, and of high risk
    unless `destructiveHint` is false, as the protocol takes what says nothing for destructive. A read-only
    tool that is also called destructive contradicts itself and counts as one of which nothing is known.

    Args:
        hints: The annotations by their names in the protocol; LangChain tools made of MCP tools have them in
            their metadata. Only true and false are understood.
    """
    stated = {name: (hints or {}).get(name) for name in _HINTS}
    if not any(isinstance(value, bool) for value in stated.values()):
        return None
    reads, destroys = stated["readOnlyHint"] is True, stated["destructiveHint"]
    if reads:
        return UNKNOWN_TOOL_POLICY if destroys is True else ToolPolicy(effect="read")
    return ToolPolicy(
        effect="write",
        idempotent=stated["idempotentHint"] is True,
        risk=None if destroys is False else Risk.HIGH,
    )
