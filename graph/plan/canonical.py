"""One text for equal JSON values, and the digest of a tool call."""

import hashlib
import json
from collections.abc import Mapping

from graph.plan.json_values import JSON


def canonical_json(value: object) -> str:
    """Return the same text for the same JSON value whatever the order of its keys.

    `1`, `1.0`, `"1"` and `True` give four different texts.

    Args:
        value: JSON data.

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def call_digest(tool: str, args: Mapping[str, JSON]) -> str:
    """Return 32 hex digits that stand for one tool with these arguments."""
    return hashlib.sha256(canonical_json([tool, dict(args)]).encode("ascii")).hexdigest()[:32]
