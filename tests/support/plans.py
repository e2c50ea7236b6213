"""P0, the plan that most tests start from: a lookup, and a write of its result that a person approves."""

from copy import deepcopy
from typing import Any

P0: dict[str, Any] = {
    "goal": "g",
    "steps": [
        {"id": "s1", "action": "tool", "tool": "web_search", "args": {"query": "q"}, "depends_on": []},
        {
            "id": "s2",
            "action": "tool",
            "tool": "write_file",
            "args": {"path": "out.md", "content": "${s1}"},
            "depends_on": ["s1"],
            "risk": "high",
            "require_approval": True,
        },
    ],
}


def writing(**args: Any) -> dict[str, Any]:
    """P0 whose write has further arguments, or others."""
    plan = deepcopy(P0)
    plan["steps"][1]["args"] |= args
    return plan
