"""The key that makes a repeated write recognisable."""

import hashlib
from collections.abc import Mapping

from graph.plan import JSON, canonical_json


def idempotency_key(plan_id: str, step_id: str, item: int | None, tool: str, args: Mapping[str, JSON]) -> str:
    """Return 32 hex digits that are the same over retries, crashes, resumes and replans that keep the step.

    Args:
        plan_id: The plan, whatever its revision.
        step_id: The step.
        item: Position in the list when the step runs once per item, else None.
        tool: The tool's name.
        args: The resolved arguments.
    """
    identity = canonical_json([plan_id, step_id, item, tool, dict(args)])
    return hashlib.sha256(identity.encode("ascii")).hexdigest()[:32]
