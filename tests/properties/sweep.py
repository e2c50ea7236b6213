"""A plan's run, killed in process at one point of its way after another."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

from langgraph.types import Command, interrupt

from graph.build import build_graph
from graph.intake import RunNotFoundError
from tests.properties.durable import Memory
from tests.properties.world import Fuse
from tests.support.models import ScriptedModel, says
from tools import HardToolError, IdempotencyKey, ToolRegistry, policy

CONFIG: Any = {"configurable": {"thread_id": "run"}}


@dataclass
class Outside:
    """What the tools did, over all processes."""

    fuse: Fuse = field(default_factory=Fuse)
    effects: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def write(self, key: str, what: str) -> None:
        self.fuse.point()
        self.effects[key] = what
        self.fuse.point()


OUTSIDE: ContextVar[Outside] = ContextVar("outside")


@policy(effect="read")
async def look(what: str) -> str:
    """Look something up."""
    OUTSIDE.get().calls.append(what)
    OUTSIDE.get().fuse.point()
    return f"seen {what}"


@policy(effect="read")
async def broken(what: str) -> str:
    """Look for what is not there."""
    OUTSIDE.get().calls.append(what)
    raise HardToolError("not_found", f"there is no {what}")


@policy(effect="write", idempotent=True, risk="low")
async def put(what: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Write."""
    OUTSIDE.get().write(key, what)
    return f"put {what}"


@policy(effect="write", idempotent=True, risk="low")
async def ask_and_put(what: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Write what a person says."""
    said = interrupt({"what": what})
    OUTSIDE.get().write(key, f"{what}: {said}")
    return f"put {said}"


TOOLS = ToolRegistry.of(look, broken, put, ask_and_put)


def tool_step(step_id: str, tool: str, what: str, *needs: str, **more: Any) -> dict[str, Any]:
    base = {"id": step_id, "action": "tool", "tool": tool, "args": {"what": what}, "depends_on": list(needs)}
    return base | more


class Sweep:
    """Runs one plan, killed at point N of one of its processes, and answers what it asks."""

    def __init__(
        self, plan: dict[str, Any], answers: Mapping[str, Any], models: Mapping[str, ScriptedModel]
    ) -> None:
        self.plan, self.answers, self.models = plan, answers, models
        settings = {"compensate": True, "max_replans": int("replanner" in models)}
        self.graph = build_graph(tools=TOOLS, models=dict(models), settings=settings)
        self.outside, self.durable = Outside(), Memory()

    async def process(self, given: Any, fuse: Fuse) -> dict[str, Any] | None:
        self.outside.fuse = fuse
        OUTSIDE.set(self.outside)
        with self.durable.opened(fuse) as (saver, store):
            graph = self.graph.copy({"checkpointer": saver, "store": store})
            try:
                document: dict[str, Any] = await graph.ainvoke(given, CONFIG)
            except RunNotFoundError:
                return await self.process({"goal": "sweep", "plan": self.plan}, fuse)
            except Exception:
                if not fuse.dead:
                    raise
                return None
        return None if fuse.dead else document

    async def run(self, kill_at: int) -> tuple[dict[str, Any], bool]:
        """The last document, and whether the kill came before the run's end.

        Points are counted on over all processes of the run, so that its answers are killed too.
        """
        fuse, killed = Fuse(kill_at), False
        document = await self.process(None, fuse)
        for _ in range(50):
            if fuse.dead:
                fuse, killed = Fuse(), True
            if document is None:
                document = await self.process(None, fuse)
            elif document["pending"]:
                step = min(item["step"] for item in document["pending"])
                document = await self.process(Command(resume={step: self.answers[step]}), fuse)
            else:
                return document, killed
        raise AssertionError(document)


def swept(
    plan: list[dict[str, Any]],
    answers: Mapping[str, Any],
    replan: Any = None,
    *,
    part: Any = None,
    stride: int = 1,
) -> list[Sweep]:
    """Kill the plan's run at each `stride`-th point; it always ends like the one that was never killed."""
    wanted, sweeps, kill_at, killed = _outcome(plan, answers, replan, part, kill_at=-1)[0], [], 1, True
    while killed:
        outcome, killed, sweep = _outcome(plan, answers, replan, part, kill_at=kill_at)
        assert outcome == wanted, f"killed at point {kill_at}"
        sweeps.append(sweep)
        kill_at += stride
    assert kill_at > 50
    return sweeps


def _outcome(
    plan: list[dict[str, Any]], answers: Mapping[str, Any], replan: Any, part: Any, *, kill_at: int
) -> tuple[dict[str, Any], bool, Sweep]:
    replies = {"replanner": replan, "planner": part}
    models = {role: says(reply) for role, reply in replies.items() if reply}
    sweep = Sweep({"goal": "sweep", "steps": plan}, answers, models)
    document, killed = asyncio.run(sweep.run(kill_at))
    steps = {row["id"]: (row["status"], row["output"], row["revision"]) for row in document["steps"]}
    effects = sorted(sweep.outside.effects.values())
    told = {name: document[name] for name in ("status", "answer", "reason", "replans")}
    return {**told, "steps": steps, "effects": effects}, killed, sweep
