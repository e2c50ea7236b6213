"""A shop whose tools remember their calls."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from checkpoints import Journal, StepEntry
from graph.build import build_graph
from graph.plan import JSON
from graph.running import PlanrailGraph
from tools import HardToolError, ToolRegistry, policy

Json = dict[str, Any]
CUSTOMER: dict[str, JSON] = {"customer": {"email": "ann@x.com", "name": "Ann"}, "total": 40, "id": "A1"}
LONG = "x" * 2_000_000


@dataclass
class Shop:
    """`look`, `read` and `long` read; `pay` and `mail` write."""

    calls: list[tuple[str, Json]] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)

    def did(self, tool: str) -> list[Json]:
        return [args for name, args in self.calls if name == tool]

    def note(self, tool: str, **args: Any) -> None:
        self.calls.append((tool, args))
        if tool in self.fails:
            raise HardToolError("broken", f"{tool} is out of order")

    def tools(self) -> ToolRegistry:
        @policy(effect="read")
        async def look(order: str) -> Json:
            """Look an order up."""
            self.note("look", order=order)
            return CUSTOMER

        @policy(effect="read")
        async def read(page: str) -> str:
            """Read a page as text."""
            self.note("read", page=page)
            return "The refund of order A1 is 40 EUR. Contact: ann@x.com"

        @policy(effect="read")
        async def long() -> str:
            """Give a long text."""
            self.note("long")
            return LONG

        @policy(effect="write", risk="low")
        async def pay(to: str, amount: float, note: str = "") -> str:
            """Pay an amount to an address."""
            self.note("pay", to=to, amount=amount, note=note)
            return f"paid {amount}"

        @policy(effect="write", risk="low", idempotent=True)
        async def mail(to: str, text: str) -> str:
            """Send a text to an address."""
            self.note("mail", to=to, text=text)
            return "sent"

        return ToolRegistry.of(look, read, long, pay, mail)


def step(step_id: str, tool: str, args: Json | None = None, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args or {}, **more}


def plan(*steps: Json, goal: str = "refund order A1", **more: Any) -> Json:
    return {"goal": goal, "steps": list(steps), **more}


def given(*steps: Json, **more: Any) -> Any:
    """The graph's input for a plan of the caller's own."""
    made = plan(*steps, **more)
    return {"goal": made["goal"], "plan": made}


def graph(shop: Shop, models: Any = None, **settings: Any) -> Any:
    return build_graph(
        tools=shop.tools(),
        models=models,
        settings={"backoff_base": 0.0, **settings},
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )


def thread(name: str = "t") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def by_id(result: Json) -> dict[str, Json]:
    return {row["id"]: row for row in result["steps"]}


def statuses(result: Json) -> dict[str, str]:
    return {row["id"]: row["status"] for row in result["steps"]}


def error_of(result: Json, step_id: str) -> str:
    error = by_id(result)[step_id]["error"]
    return f"{error['code']}: {error['message']}"


async def entries(built: PlanrailGraph, run_id: str = "t") -> dict[str, StepEntry]:
    assert built.store is not None
    return dict((await Journal(built.store, run_id).load()).steps)
