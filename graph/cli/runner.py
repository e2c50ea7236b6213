"""Starts a run or goes on with one: opens the store, builds the graph, streams it, reads the result."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Command

from checkpoints import OpenedStore, RunBusyError, StoreError, find_run, open_store
from checkpoints.open import place_of
from graph.build import build_graph
from graph.cli.documents import RunView, read_run, require_run
from graph.cli.errors import NoSuchRun, RunIdTaken
from graph.cli.given import Equipment
from graph.cli.inputs import read_settings
from graph.cli.interrupts import draining_on_interrupt
from graph.cli.progress import Progress
from graph.cli.questions import Kind, choose_question
from graph.cli.setups import RunSetup, equipped, recall, remember, require_setup
from graph.demo import Stage
from graph.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class NewRun:
    """A run to start; its plan, tools and settings have been read and judged."""

    run_id: str
    goal: str
    plan: Plan | None
    setup: RunSetup
    equipment: Equipment


@dataclass(frozen=True)
class Changes:
    """What a later command says anew about a run's tools and settings."""

    tools: str | None
    settings: list[str]


Answer = tuple[Kind, str | None, Any]
"""Which kind of question, the step or approval it names, and the answer itself."""


def start(database: str, new: NewRun, *, whole_outputs: bool) -> RunView:
    """Run from the beginning to its end, or until it waits, or is interrupted.

    Raises:
        RunIdTaken: The id is used.
        PlanrailError: The store, the plan or a setting does not allow it.
    """

    async def work(opened: OpenedStore) -> RunView:
        with _beginning(opened, new.run_id):
            with opened.run_lock(new.run_id):
                if await find_run(opened.store, new.run_id) is not None:
                    remedy = "choose another --run-id, or use `planrail resume`"
                    raise RunIdTaken(f"run {new.run_id!r} exists already: {remedy}")
                await remember(opened.store, new.run_id, new.setup)
            await _stream(opened, new.run_id, new.equipment, {"goal": new.goal, "plan": as_given(new.plan)})
        return await read_run(opened, new.run_id, whole_outputs=whole_outputs)

    return with_store(database, work)


@contextmanager
def _beginning(opened: OpenedStore, run_id: str) -> Iterator[None]:
    """Keep others from beginning a run of the same id, from before it is looked for until it has ended.

    Between the two the run's own lock is free for a moment.

    Raises:
        RunBusyError: Another process has begun it.
    """
    try:
        lock = opened.run_lock(f"\0beginning\0{run_id}")
        lock.acquire()
    except RunBusyError:
        raise RunBusyError(run_id) from None
    try:
        yield
    finally:
        lock.release()


def as_given(plan: Plan | None) -> Plan | dict[str, Any] | None:
    """A plan as the graph's input: one of a template keeps its author, any other is its caller's."""
    return plan if plan is None or plan.author.startswith("template:") else plan.to_json()


def go_on(
    database: str, run_id: str, changes: Changes, answer: Answer | None, *, whole_outputs: bool
) -> tuple[RunView, Stage | None]:
    """Take a run up where it stands, with an answer to one of its questions or without.

    Raises:
        NoSuchRun: The database does not know it.
        NoSuchQuestion: The answer fits no open question.
        PlanrailError: The store, the answer or a setting does not allow it.
    """

    async def work(opened: OpenedStore) -> tuple[RunView, Stage | None]:
        entry = await require_run(opened, run_id)
        resume: Command[Any] | None = None
        if answer is not None:
            kind, named, reply = answer
            pending: list[Any] = list(entry.pending)
            resume = Command(resume={choose_question(pending, kind, named, run_id)["id"]: reply})
        known = require_setup(await recall(opened.store, run_id), run_id, changes.tools)
        setup = known.with_changes(changes.tools, changes.settings)
        with equipped(setup) as (tools, models, stage):
            equipment = Equipment(tools, models, read_settings(setup.settings, setup.config))
            await _stream(opened, run_id, equipment, resume)
        return await read_run(opened, run_id, whole_outputs=whole_outputs), stage

    return with_store(existing(database, run_id), work)


def existing(database: str, run_id: str) -> str:
    """The path of a database that is there; raises NoSuchRun rather than make an empty one."""
    if is_missing(database):
        raise NoSuchRun(f"no run {run_id!r}, for there is no database {database}: name it with --db")
    return database


def is_missing(database: str) -> bool:
    """Whether the folder is there and the file is not; all else that can be wrong is told by opening it."""
    try:
        place = place_of(database)
        return place.parent.is_dir() and not place.exists()
    except (StoreError, OSError):
        return False


def with_store(database: str, work: Callable[[OpenedStore], Coroutine[Any, Any, T]]) -> T:
    """Open the database, do the work in an event loop, close it."""

    async def opened_work() -> T:
        async with open_store(database) as opened:
            return await work(opened)

    return asyncio.run(opened_work())


async def _stream(opened: OpenedStore, run_id: str, equipment: Equipment, given: Any) -> None:
    """Let the graph work and show its events; a drain that Ctrl-C asked for is an ordinary end."""
    graph = build_graph(
        tools=equipment.tools,
        models=equipment.models,
        settings=equipment.settings,
        checkpointer=opened.checkpointer,
        store=opened.store,
    )
    control, progress = RunControl(), Progress(run_id)
    config: RunnableConfig = {"configurable": {"thread_id": run_id}}
    with draining_on_interrupt(control):
        try:
            async for event in graph.astream(given, config, stream_mode="custom", control=control):
                progress(event)
        except GraphDrained:
            return
