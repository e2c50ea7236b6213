"""An agent step, and turns that a model takes in it."""

from typing import Any

from checkpoints import StepEntry
from tests.executor.shop import entries, given

LOOK = {"tool": "look", "args": {"order": "A1"}}
PAY = {"tool": "pay", "args": {"to": "ann@x.com", "amount": 40}}
DONE = {"result": "refunded"}


def agent(*tools: str, **more: Any) -> dict[str, Any]:
    return {"id": "work", "action": "agent", "instruction": "refund it", "tools": list(tools), **more}


def inputs(*tools: str, **more: Any) -> Any:
    return given(agent(*tools, **more))


async def items(built: Any) -> dict[str, StepEntry]:
    return {key: entry for key, entry in (await entries(built)).items() if entry.item is not None}
