"""Runs a random plan through interruptions and answers, as callers in several processes would."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from hypothesis import strategies as st
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command

from checkpoints import Journal, StepEntry
from graph.build import build_graph
from graph.intake import RunNotFoundError
from graph.plan import RunStatus
from graph.running import PlanrailGraph
from tests.properties.agreement import agrees
from tests.properties.durable import InFile, Memory
from tests.properties.models import Echo, Planner
from tests.properties.reference import Reference
from tests.properties.specs import Spec, by_name, plan_json
from tests.properties.undoing import undo
from tests.properties.world import REGISTRY, WORLD, Fuse, World

RUN_ID = "run"
CONFIG: Any = {"configurable": {"thread_id": RUN_ID}}
FINAL = {"succeeded", "failed", "rejected", "not_taken"}


@dataclass(frozen=True)
class Fault:
    """How one process ends early: at its `at`-th store call or tool call; `none` lets it end."""

    kind: Literal["none", "kill", "cancel", "drain"] = "none"
    at: int = 1


NO_FAULT = Fault()


@cache
def _graph(max_concurrency: int, scheduling: str, compensate: bool) -> PlanrailGraph:
    """Built once, because that takes most of a short run's time; each process gets a copy of its own."""
    settings = {
        "max_concurrency": max_concurrency,
        "scheduling": scheduling,
        "compensate": compensate,
        "backoff_base": 0,
        "max_replans": 0,
        "digest_chars": 1_000_000,
    }
    models = {"executor": Echo(), "planner": Planner()}
    return build_graph(tools=REGISTRY, models=models, settings=settings)


class Harness:
    """One run of one plan over as many simulated processes as it takes."""

    def __init__(
        self,
        specs: tuple[Spec, ...],
        durable: Memory | InFile,
        *,
        max_concurrency: int,
        scheduling: str = "lanes",
        compensate: bool = False,
    ) -> None:
        self.specs = by_name(specs)
        self.plan = plan_json(specs)
        self.compensates = compensate
        self.durable = durable
        self._graph = _graph(max_concurrency, scheduling, compensate)
        self.world = World(self.specs, max_concurrency)
        self.document: dict[str, Any] | None = None
        self.statuses: dict[str, str] = {}
        self.is_open = False

    async def process(self, given: Any, fault: Fault = NO_FAULT) -> bool:
        """One process from its start to its end; True when it ended by itself and left a document."""
        fuse = Fuse(fault.at if fault.kind == "kill" else None)
        self.world.fuse = fuse
        WORLD.set(self.world)
        if fault.kind == "kill":
            self.world.killed()
        with self.durable.opened(fuse) as (saver, store):
            graph = self._graph.copy({"checkpointer": saver, "store": store})
            ended = await self._invoke(graph, given, fault)
        self.world.on_call = lambda _count: None
        await self._look_at_journal()
        return ended

    async def _invoke(self, graph: PlanrailGraph, given: Any, fault: Fault) -> bool:
        control = RunControl()
        task = asyncio.ensure_future(graph.ainvoke(given, CONFIG, control=control))

        def on_call(count: int, begun: int = self.world.calls.total()) -> None:
            if fault.kind == "cancel" and count - begun == fault.at:
                task.cancel()
            if fault.kind == "drain" and count - begun == fault.at:
                control.request_drain()

        self.world.on_call = on_call
        try:
            document = await task
        except GraphDrained:
            assert fault.kind == "drain"
            return False
        except asyncio.CancelledError:
            assert fault.kind == "cancel"
            return False
        except Exception:
            if not self.world.fuse.dead:
                raise
            return False
        if self.world.fuse.dead:
            return False
        self.document = document
        return True

    async def _look_at_journal(self) -> None:
        """What is durable now: finished steps may not run again, and what is settled stays so."""
        with self.durable.opened(Fuse()) as (_, store):
            log = await Journal(store, RUN_ID).load()
        statuses = {key: entry.status.value for key, entry in log.steps.items()}
        self.is_open = log.run is not None and log.run.status in (RunStatus.RUNNING, RunStatus.WAITING)
        for step_id, before in self.statuses.items():
            if before in FINAL and statuses[step_id] != before:
                self.world.broken.append(f"{step_id} went from {before} to {statuses[step_id]}")
        self.statuses = statuses
        ended = {step_id for step_id, status in statuses.items() if status in FINAL}
        gone_over = {step_id for step_id, entry in log.steps.items() if entry.fallback is not None}
        planned = {step_id for step_id, entry in log.steps.items() if entry.planned is not None}
        undone = {_call_of(e) for key, e in log.steps.items() if "@undo" in key and e.status.value in FINAL}
        self.world.finished |= ended | gone_over | planned | undone | {f"{step_id}f" for step_id in ended}
        assert not self.world.broken

    async def go_on(self, fault: Fault = NO_FAULT) -> bool:
        """Resume the run, or start it when no process came as far as writing it down."""
        try:
            return await self.process(None, fault)
        except RunNotFoundError:
            return await self.start(fault)

    async def come_to_rest(self, next_fault: Callable[[], Fault], *, ended: bool) -> bool:
        """Resume after each interruption, unless a process has ended by itself; whether a person is asked."""
        while not ended:
            ended = await self.go_on(next_fault())
        assert self.document is not None
        return bool(self.document["status"] == "waiting")

    async def start(self, fault: Fault = NO_FAULT) -> bool:
        return await self.process({"goal": self.plan["goal"], "plan": self.plan}, fault)

    async def resume(self, answer: Any) -> bool:
        """Resume with whatever a caller says, whole."""
        return await self.process(Command(resume=answer))

    @property
    def pending(self) -> dict[str, dict[str, Any]]:
        assert self.document is not None
        return {item["step"]: item for item in self.document["pending"]}

    def truth_about(self, step_id: str) -> dict[str, Any]:
        """What an honest person says of a write in doubt: of the step's own, or of its fallback's."""
        args = self.pending[step_id]["args"]
        step_id = args["call"]["args"]["step"] if "call" in args else args["step"]
        if not self.world.happened(step_id):
            return {"decision": "not_happened"}
        self.world.ended.add(step_id)
        return {"decision": "happened", "result": {"step": step_id, "value": self.world.effect_of(step_id)}}

    @property
    def items_done(self) -> dict[str, list[int]]:
        """Which items of each map are done, as far as is durable."""
        found: dict[str, list[int]] = {}
        for key, status in self.statuses.items():
            step_id, _, item = key.partition("#")
            if item and status == "succeeded":
                found.setdefault(step_id, []).append(int(item))
        return found

    def lost(self, reference: Reference) -> list[str]:
        """Steps whose answer a kill has swallowed: it is given again before any other."""
        return sorted(set(self.pending) - reference.unanswered())

    async def answer(self, answers: Mapping[str, Any], fault: Fault = NO_FAULT) -> bool:
        return await self.process(Command(resume=dict(answers)), fault)


def _call_of(entry: StepEntry) -> str:
    """The name that an undoing step, or an item of one, goes by in calls."""
    return str(entry.input.get("step")) if isinstance(entry.input, dict) else ""


async def finish(harness: Harness, reference: Reference, pick: Any, fault: Any = None) -> None:
    """Drive a run to its end: resume after each interruption, answer what is asked, in drawn order.

    Args:
        harness: The run.
        reference: The model, driven alongside.
        pick: Chooses one of a sorted list of step ids.
        fault: Gives the next interruption.
    """
    next_fault = fault or (lambda: NO_FAULT)
    ended = False
    for _ in range(200):
        if not await harness.come_to_rest(next_fault, ended=ended):
            break
        pending = harness.pending
        doubts = sorted(step for step, item in pending.items() if item["kind"] == "outcome")
        reference.settle()
        if doubts:
            step = pick(doubts)
            ended = await harness.answer({step: harness.truth_about(step)}, next_fault())
            continue
        lost = harness.lost(reference)
        assert lost or set(pending) == reference.pending()
        step = pick(lost or sorted(pending))
        answer = harness.specs[step].answer
        assert answer is not None, f"{step} asked for no approval"
        if not lost:
            reference.answer(step, answer)
        ended = await harness.answer({step: answer.to_resume()}, next_fault())
    reference.settle()
    reference.finish(harness.items_done)
    if harness.compensates and harness.document is not None:
        undo(reference, harness.items_done, {row["id"]: row["output"] for row in harness.document["steps"]})
    agrees(harness, reference)


def drive(harness: Harness, steps: tuple[Spec, ...], data: st.DataObject, faults: Sequence[Fault]) -> None:
    """Drive a run to its end through these interruptions, the last one first, with answers in drawn order."""
    left = list(faults)
    asyncio.run(
        finish(
            harness,
            Reference(steps),
            lambda ids: data.draw(st.sampled_from(ids)),
            lambda: left.pop() if left else NO_FAULT,
        )
    )
