"""A validator with scripted verdicts, tools, and plans to check."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from langchain_core.messages.ai import UsageMetadata

from graph.build import build_graph
from tests.support.models import ScriptedModel, says
from tools import policy

Say = Callable[[str], str]


def holds(_asked: str = "") -> str:
    return json.dumps({"reason": "nothing speaks against it", "valid": True, "broken_assumption": None})


def broken(assumption: str) -> str:
    return json.dumps({"reason": "a result says so", "valid": False, "broken_assumption": assumption})


USAGE: UsageMetadata = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}


def judging(say: Say) -> ScriptedModel:
    """A model that answers what `say` makes of the prompt, and tells its tokens."""
    return says(say, usage=USAGE)


class Desk:
    """An office whose calls are written down."""

    def __init__(self) -> None:
        """Nothing was called yet."""
        self.calls: list[str] = []

    def tools(self) -> list[Any]:
        @policy(effect="read", backoff_base=0)
        async def look(what: str) -> dict[str, str]:
            """Look something up."""
            self.calls.append(f"look {what}")
            await asyncio.sleep(0)
            return {"found": f"the {what}"}

        @policy(effect="write", idempotent=True, risk="low")
        async def put(what: str) -> str:
            """Write something."""
            self.calls.append(f"put {what}")
            return what

        @policy(effect="write", idempotent=True, risk="low", money=True)
        async def pay(what: str) -> str:
            """Pay something."""
            self.calls.append(f"pay {what}")
            return what

        return [look, put, pay]


def call(step_id: str, tool: str, *after: str, **fields: Any) -> dict[str, Any]:
    args = {"what": step_id}
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": list(after), **fields}


def plan_of(*steps: dict[str, Any], assumptions: tuple[str, ...] = ("the order was shipped",)) -> Any:
    plan = {"goal": "help the customer", "assumptions": list(assumptions), "steps": list(steps)}
    return {"goal": plan["goal"], "plan": plan}


def build(
    desk: Desk, validator: ScriptedModel | None, *, planner: ScriptedModel | None = None, **given: Any
) -> Any:
    models: dict[str, Any] = {}
    if validator is not None:
        models["validator"] = validator
    if planner is not None:
        models["planner"] = planner
    settings = {"backoff_base": 0, **given.pop("settings", {})}
    return build_graph(tools=desk.tools(), models=models or None, settings=settings, **given)


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {row["id"]: row["status"] for row in document["steps"]}
