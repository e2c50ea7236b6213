"""Plans with maps, tools that remember their calls, and runs of them on one SQLite file."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from langgraph.types import Command

from checkpoints import open_store
from graph.build import build_graph
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, ToolRegistry, policy

Json = dict[str, Any]

CONFIG: Any = {"configurable": {"thread_id": "r"}}


def mapped(step_id: str, over: Any, tool: str, args: Json, **more: Any) -> Json:
    """A map of one tool; `step` adds to what each item runs, the rest to the map."""
    inner = {"action": "tool", "tool": tool, "args": args, **more.pop("step", {})}
    return {"id": step_id, "action": "map", "over": over, "step": inner, **more}


def plan(*steps: Json) -> Json:
    return {"goal": "go over a list", "steps": list(steps)}


@dataclass
class Shelf:
    """`read`, `put` and `put_once` act on a value; `behave` may raise before, given the value and the try."""

    behave: Callable[[Any, int], None] = lambda _value, _tries: None
    after: Callable[[Any, int], None] = lambda _value, _tries: None
    calls: Counter[str] = field(default_factory=Counter)
    keys: dict[str, str] = field(default_factory=dict)
    puts: list[Any] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0

    async def _act(self, tool: str, value: Any) -> Any:
        self.calls[f"{tool} {value}"] += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await asyncio.sleep(0)
            self.behave(value, self.calls[f"{tool} {value}"])
            return f"<{value}>"
        finally:
            self.running -= 1

    def registry(self) -> ToolRegistry:
        @policy(effect="read", backoff_base=0)
        async def list_values(count: int) -> list[Json]:
            """List some values."""
            return [{"n": n, "name": f"第{n}个"} for n in range(count)]

        @policy(effect="read", backoff_base=0)
        async def read(value: Any) -> str:
            """Read a value."""
            return str(await self._act("read", value))

        @policy(effect="read", backoff_base=0, max_concurrency=2)
        async def read_capped(value: Any) -> str:
            """Read a value, two at a time."""
            return str(await self._act("read_capped", value))

        @policy(effect="write", idempotent=True, risk="low", backoff_base=0, grounded=[])
        async def put(value: Any, key: Annotated[str, IdempotencyKey]) -> str:
            """Put a value once for each key."""
            result = await self._act("put", value)
            if key not in self.keys:
                self.keys[key] = str(value)
                self.puts.append(value)
            self.after(value, self.calls[f"put {value}"])
            return str(result)

        @policy(effect="write", risk="low", backoff_base=0, grounded=[])
        async def put_once(value: Any) -> str:
            """Put a value."""
            result = await self._act("put_once", value)
            self.puts.append(value)
            self.after(value, self.calls[f"put_once {value}"])
            return str(result)

        @policy(
            effect="write", risk="low", grounded=[], approve_when=["value == 3"], deny_when=["value == 4"]
        )
        async def put_ruled(value: int, secret: str = "") -> str:
            """Put a value that rules look at."""
            self.puts.append(value)
            return f"<{value}>"

        @policy(effect="write", risk="high", grounded=[], redact=["secret"])
        async def put_risky(value: int, secret: str = "") -> str:
            """Put a value that a person must see first."""
            self.puts.append(value)
            return f"<{value}>"

        return ToolRegistry.of(list_values, read, read_capped, put, put_once, put_ruled, put_risky)


def hard(*values: Any) -> Callable[[Any, int], None]:
    """These values are not there."""

    def behave(value: Any, _tries: int) -> None:
        if value in values:
            raise HardToolError("not_found", f"there is no {value}")

    return behave


def soft(times: int, *values: Any) -> Callable[[Any, int], None]:
    """These values are busy so many times."""

    def behave(value: Any, tries: int) -> None:
        if value in values and tries <= times:
            raise SoftToolError(f"{value} is busy")

    return behave


def doubtful(*values: Any) -> Callable[[Any, int], None]:
    """Nobody knows what became of the first try of these."""

    def behave(value: Any, tries: int) -> None:
        if value in values and tries == 1:
            raise OutcomeUnknown(f"the line went dead at {value}")

    return behave


@dataclass
class Runs:
    """One run over as many invocations, each like a process of its own, as it takes."""

    path: Path
    shelf: Shelf = field(default_factory=Shelf)
    models: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    tools: ToolRegistry | None = None
    events: list[Json] = field(default_factory=list)

    async def _invoke(self, given: Any) -> Json:
        with open_store(self.path / "runs.db") as opened:
            graph = build_graph(
                tools=self.tools or self.shelf.registry(),
                models=dict(self.models),
                settings={"approve_at": "high", "backoff_base": 0, **self.settings},
                checkpointer=opened.checkpointer,
                store=opened.store,
            )
            document: Json = {}
            async for mode, chunk in graph.astream(given, CONFIG, stream_mode=["values", "custom"]):
                if mode == "custom":
                    self.events.append(chunk)
                else:
                    document = chunk
            return document

    def start(self, *steps: Json, **more: Any) -> Json:
        return asyncio.run(self._invoke({"goal": "go over a list", "plan": {**plan(*steps), **more}}))

    def resume(self, answer: Any = None) -> Json:
        return asyncio.run(self._invoke(None if answer is None else Command(resume=answer)))


def row(document: Json, step_id: str) -> Json:
    found: Json = next(each for each in document["steps"] if each["id"] == step_id)
    return found
