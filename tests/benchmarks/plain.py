"""What one would write on LangGraph alone: waves of Sends, a loop that carries results, tasks."""

import asyncio
import operator
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from tests.benchmarks.plans import PLENTY, UnevenDag

Saver = BaseCheckpointSaver[Any]
Start = Callable[[str], Awaitable[Any]]
"""Runs it once to its end, under the given thread id."""


class WavesState(TypedDict):
    """`wave` is the number of the next one."""

    wave: int
    done: Annotated[list[int], operator.add]


class WaveStep(TypedDict):
    """What a Send carries."""

    step: int


def send_waves(dag: UnevenDag, saver: Saver) -> Start:
    """Every step whose inputs exist gets a Send; the next wave starts when the last of them has ended."""
    waves = dag.waves()

    async def plan(state: WavesState) -> dict[str, Any]:
        return {"wave": state.get("wave", 0) + 1}

    def fan(state: WavesState) -> list[Send] | str:
        at = state["wave"] - 1
        return [Send("work", WaveStep(step=step)) for step in waves[at]] if at < len(waves) else END

    async def work(state: WaveStep) -> dict[str, Any]:
        await asyncio.sleep(dag.durations[state["step"]])
        return {"done": [state["step"]]}

    builder = StateGraph(WavesState)
    builder.add_node("plan", plan)
    builder.add_node("work", work, input_schema=WaveStep)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan, ["work", END])
    builder.add_edge("work", "plan")
    graph = builder.compile(checkpointer=saver)

    async def start(thread: str) -> None:
        assert len((await graph.ainvoke({"wave": 0, "done": []}, _config(thread)))["done"]) == dag.size

    return start


class LoopState(TypedDict):
    """Every result so far."""

    results: Annotated[list[str], operator.add]


def carrying_loop(steps: int, result: str, saver: Saver) -> Start:
    """One node again and again; the state holds all results, as plan-and-execute examples have it."""

    async def work(state: LoopState) -> dict[str, Any]:
        return {"results": [result]}

    builder = StateGraph(LoopState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda s: END if len(s["results"]) >= steps else "work")
    graph = builder.compile(checkpointer=saver)

    async def start(thread: str) -> None:
        assert len((await graph.ainvoke({"results": []}, _config(thread)))["results"]) == steps

    return start


def task_chain(steps: int, tool: BaseTool, saver: Saver) -> Start:
    """LangGraph's functional API: each call a `@task`, whose result the saver keeps."""

    @task
    async def call(i: int) -> Any:
        return await tool.ainvoke({"i": i})

    @entrypoint(checkpointer=saver)
    async def workflow(count: int) -> int:
        for i in range(count):
            await call(i)
        return count

    async def start(thread: str) -> None:
        assert await workflow.ainvoke(steps, _config(thread)) == steps

    return start


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}, "recursion_limit": PLENTY}
