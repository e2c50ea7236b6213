"""A small set of tools that remember their calls, and plans over them."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig

from tools import ToolRegistry, policy

Json = dict[str, Any]


@dataclass
class Office:
    """`find` reads, `pay` is a write that needs approval, `log` one that does not."""

    found: list[str] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    def tools(self) -> ToolRegistry:
        @policy(effect="read")
        async def find(order: str) -> Json:
            """Look an order up."""
            self.found.append(order)
            return {"order": order, "amount": 40}

        @policy(effect="write", risk="high")
        async def pay(amount: int) -> int:
            """Pay an amount."""
            self.paid.append(amount)
            return amount

        @policy(effect="write", risk="low")
        async def log(text: str) -> str:
            """Write a line down."""
            self.logged.append(text)
            return text

        return ToolRegistry.of(find, pay, log)


def step(step_id: str, tool: str, args: Json, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, **more}


def plan(*steps: Json) -> Json:
    return {"goal": "settle the order", "steps": list(steps)}


FIND_AND_PAY = plan(
    step("find", "find", {"order": "A1"}),
    step("pay", "pay", {"amount": "${find.amount}"}),
)
CHAIN = plan(
    step("s1", "find", {"order": "A1"}),
    *(step(f"s{n}", "find", {"order": f"${{s{n - 1}.order}}"}) for n in range(2, 61)),
)


def thread(thread_id: str = "t") -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


def limited(supersteps: int) -> RunnableConfig:
    return {**thread(), "recursion_limit": supersteps}
