"""What Studio's forms send to the server, and the plans of the tests."""

from dataclasses import dataclass
from typing import Any

from langgraph_sdk.client import LangGraphClient

from tests.server.process import Server
from tools.shop import open_shop

GRAPH = "planrail"

Json = dict[str, Any]


def tool(step_id: str, name: str, args: Json, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": name, "args": args, **more}


def refund(step_id: str, amount: Any, order_id: str = "A1234", **more: Any) -> Json:
    return tool(step_id, "issue_refund", {"order_id": order_id, "amount": amount}, **more)


def plan(*steps: Json) -> Json:
    return {"goal": "settle the complaint", "steps": list(steps)}


def lookup_and_refund(amount: float) -> Json:
    return plan(
        tool("s1", "query_order", {"order_id": "A1234"}),
        refund("s2", amount, "${s1.order_id}"),
    )


@dataclass(frozen=True)
class Studio:
    """A client that starts runs and answers questions; errors come back as `{"__error__": ...}`."""

    client: LangGraphClient
    server: Server

    async def start(self, given: Any) -> tuple[str, Json]:
        thread = await self.client.threads.create()
        return thread["thread_id"], await self._wait(thread["thread_id"], input=given)

    async def again(self, thread_id: str, given: Any) -> Json:
        return await self._wait(thread_id, input=given)

    async def answer(self, thread_id: str, answer: Any) -> Json:
        return await self._wait(thread_id, command={"resume": answer})

    async def open_questions(self, thread_id: str) -> dict[str, Json]:
        """What the server shows of each open question, by step."""
        state = await self.client.threads.get_state(thread_id)
        values = [interrupt["value"] for task in state["tasks"] for interrupt in task["interrupts"]]
        return {value["step"]: value for value in values}

    async def _wait(self, thread_id: str, **run: Any) -> Json:
        result = await self.client.runs.wait(thread_id, GRAPH, raise_error=False, **run)
        assert isinstance(result, dict)
        return result

    def refunds(self) -> list[float]:
        """The amounts that the shop paid back so far."""
        rows = open_shop(self.server.folder / "shop.db").rows("refunds")
        return [int(str(row["amount_cents"])) / 100 for row in rows]


def error_of(result: Json) -> str:
    """The error's kind and text as the server gives them out; "" when there is none."""
    error = result.get("__error__")
    return f"{error['error']}: {error['message']}" if error else ""
