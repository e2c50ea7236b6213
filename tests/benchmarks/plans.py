"""What the benchmarks run: chains, fan-outs and uneven graphs of steps, and our graph that runs them."""

import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from checkpoints import OpenedStore
from graph.build import build_graph
from graph.running import PlanrailGraph

PLENTY = 10_000

JsonPlan = dict[str, Any]


def graph_on(opened: OpenedStore, tools: list[Any], **settings: Any) -> PlanrailGraph:
    """Our graph with its journal and checkpoints in the file."""
    return build_graph(
        tools=tools,
        checkpointer=opened.checkpointer,
        store=opened.store,
        settings={"max_steps": PLENTY, **settings},
    )


async def run_to_success(graph: PlanrailGraph, plan: JsonPlan, run_id: str) -> None:
    document = await graph.ainvoke({"plan": plan}, {"configurable": {"thread_id": run_id}})
    assert document["status"] == "succeeded", document["reason"]


def chain(length: int, tool: str) -> JsonPlan:
    """Steps one after the other; the tool gets its number as `i`."""
    return _plan([_step(f"s{i}", tool, {"i": i}, [f"s{i - 1}"] if i else []) for i in range(length)])


def fan_out(width: int, tool: str) -> JsonPlan:
    """One step, all others after it, side by side."""
    return _plan([_step(f"s{i}", tool, {"i": i}, ["s0"] if i else []) for i in range(width)])


@dataclass(frozen=True)
class UnevenDag:
    """A random graph of `size` steps of 20 to 400 ms; each waits for up to three earlier ones."""

    seed: int
    size: int = 40

    @cached_property
    def durations(self) -> list[float]:
        """Seconds of each step."""
        return [seconds for seconds, _ in self._steps]

    @cached_property
    def dependencies(self) -> list[list[int]]:
        """What each step waits for, all of it earlier."""
        return [earlier for _, earlier in self._steps]

    @cached_property
    def _steps(self) -> list[tuple[float, list[int]]]:
        chance = random.Random(self.seed)
        return [
            (chance.uniform(0.02, 0.4), chance.sample(range(i), min(i, chance.choice((0, 1, 1, 2, 3)))))
            for i in range(self.size)
        ]

    def critical_path(self) -> float:
        """Seconds that the longest chain takes, which no schedule can beat."""
        ends: list[float] = []
        for duration, earlier in self._steps:
            ends.append(duration + max((ends[dep] for dep in earlier), default=0.0))
        return max(ends)

    def waves(self) -> list[list[int]]:
        """The steps by depth, as a graph that starts wave after wave runs them."""
        depths: list[int] = []
        for earlier in self.dependencies:
            depths.append(1 + max((depths[dep] for dep in earlier), default=-1))
        return [[i for i in range(self.size) if depths[i] == depth] for depth in range(max(depths) + 1)]

    def plan(self, tool: str) -> JsonPlan:
        """As a plan; the tool gets its `seconds`."""
        return _plan(
            [
                _step(f"s{i}", tool, {"seconds": duration}, [f"s{dep}" for dep in earlier])
                for i, (duration, earlier) in enumerate(self._steps)
            ]
        )


def _step(step_id: str, tool: str, args: dict[str, Any], depends_on: list[str]) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": depends_on}


def _plan(steps: list[dict[str, Any]]) -> JsonPlan:
    return {"goal": "be measured", "steps": steps}
