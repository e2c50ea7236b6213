"""The compiled graph as planrail runs it: sessions, run locks, answers, and the sync edge."""

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import RunControl
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, StateSnapshot

from checkpoints import Journal, StoreError, find_run
from graph.bridge import iterate_sync, run_sync
from graph.chunks import document_in, lacks_steps, shown_chunk, with_document
from graph.intake import (
    RunExistsError,
    RunNotFoundError,
    check_stored_plan,
    of_parent,
    read_input,
    without_ids,
)
from graph.resuming import current_run, read_resume, stored_document
from graph.state import ApprovalError, Engine, GraphInput, GraphOutput, GraphState, Invocation
from graph.threads import RUN_METADATA, Place, hold_run


@dataclass(frozen=True)
class _Ready:
    """What LangGraph is given, for which run; `done` is the document of a run that has ended already."""

    given: Any
    run_id: str
    answered: frozenset[str] | None = None
    done: dict[str, Any] | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


class PlanrailGraph(CompiledStateGraph[GraphState, None, GraphInput, GraphOutput]):
    """An ordinary compiled LangGraph graph whose invocations are runs.

    Every way in (`invoke`, `ainvoke`, `stream`, `astream`, a server, a parent graph) comes through
    `astream`, which judges the input, takes the run's lock and opens its journal.
    """

    def __init__(self, *, engine: Engine, memory: BaseStore | None = None, **kwargs: Any) -> None:
        """Take over a compiled graph's parts; `build_graph` is the way to make one."""
        super().__init__(**kwargs)
        self.engine = engine
        self.memory = memory or InMemoryStore()

    async def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """As LangGraph's own.

        Raises:
            InputError, PlanError, ApprovalError, RunExistsError, RunNotFoundError, RunBusyError: Before
                anything ran; the message names the remedy.
        """
        place = await self._placed(Place.of(self, config, kwargs.get("context")), input)
        if not place.nested:
            kwargs["control"] = kwargs.get("control") or RunControl()
            if place.checkpointer is not None:
                kwargs["durability"] = kwargs.get("durability") or "sync"
        with hold_run(place):
            ready = await self._ready(place, input)
            if ready.done is not None:
                for chunk in _as_chunks(ready.done, kwargs):
                    yield chunk
                return
            async with self._invocation(place, ready, kwargs.get("control")) as invocation:
                last: Any = None
                async for given in super().astream(ready.given, place.with_invocation(invocation), **kwargs):
                    chunk = shown_chunk(given, self.engine.registry)
                    last = chunk if document_in(chunk) else last
                    yield chunk
            # When a resume found all nodes done, none of them has put the steps into the document.
            if lacks_steps(last):
                stored = await stored_document(self._store(place), ready.run_id) or {}
                yield with_document(last, {**(document_in(last) or {}), "steps": stored.get("steps", [])})

    def stream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """`astream` for callers without an event loop, and for those inside one."""
        return iterate_sync(lambda: self.astream(input, config, **kwargs))

    def invoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """`ainvoke` for callers without an event loop, and for those inside one."""
        return run_sync(lambda: self.ainvoke(input, config, **kwargs))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """What a notebook shows. LangGraph's own asks a web service for the picture."""
        drawn = self.get_graph().draw_mermaid(with_styles=False)
        return {"text/plain": repr(self), "text/markdown": f"```mermaid\n{drawn}```"}

    @asynccontextmanager
    async def _invocation(
        self, place: Place, ready: _Ready, control: RunControl | None
    ) -> AsyncIterator[Invocation]:
        engine = self.engine.under(ready.overrides)
        journal = Journal(self._store(place), ready.run_id, inline_bytes=engine.settings.inline_bytes)
        invocation = Invocation(
            engine=engine,
            run_id=ready.run_id,
            journal=journal,
            control=control or RunControl(),
            answered=ready.answered,
            overrides=ready.overrides,
        )
        try:
            yield invocation
        except StoreError:
            raise  # nothing can be written now, and waiting for the store once more helps nobody
        except BaseException:
            await invocation.close()
            raise
        finally:
            await journal.aclose()

    async def _placed(self, place: Place, given: Any) -> Place:
        """The place of the run that a resume names: `THREAD~2` lives on the checkpoints of `THREAD`."""
        first, mark, number = (place.thread_id or "").rpartition("~")
        going_on = given is None or isinstance(given, Command)
        if not (first and mark and number.isdigit() and going_on) or place.nested or not place.checkpointer:
            return place
        if await find_run(self._store(place), f"{first}~{number}") is None:
            return place
        own = await self.aget_state(place.config)
        return place if own.values or own.tasks else place.at_thread(first)

    def _store(self, place: Place) -> BaseStore:
        return place.store or self.memory

    async def _ready(self, place: Place, given: Any) -> _Ready:
        if place.nested:
            if given is None or isinstance(given, Command):
                return _Ready(given, place.nested_run_id(None))
            ready = read_input(of_parent(given), self.engine)
            return _Ready(ready, place.nested_run_id(without_ids(ready)))
        engine = self.engine.under(place.overrides)
        if place.checkpointer is None:
            run_id = place.thread_id or uuid.uuid4().hex
            return _Ready(read_input(given, engine), run_id, overrides=place.overrides)
        if place.thread_id is None:
            raise RunNotFoundError(
                'with a checkpointer, name the run: {"configurable": {"thread_id": "..."}}'
            )
        if given is None or isinstance(given, Command):
            return await self._going_on(place, place.thread_id, given)
        ready = read_input(given, engine)
        run_id, run = await current_run(self._store(place), place.thread_id)
        if run is not None:
            raise RunExistsError(
                f"run {run_id!r} has not ended ({run.status.value}): resume it with input None or "
                "Command(resume=...), or use another thread_id"
            )
        return _Ready(ready, run_id, overrides=place.overrides)

    async def _going_on(self, place: Place, thread_id: str, given: Command[Any] | None) -> _Ready:
        snapshot = await self.aget_state(place.config)
        if not snapshot.values and not snapshot.tasks:
            raise RunNotFoundError(f"there is no run {thread_id!r} to resume: start it with a goal or a plan")
        known = (snapshot.metadata or {}).get(RUN_METADATA) or snapshot.values.get("run_id")
        run_id = str(known or (await current_run(self._store(place), thread_id))[0])
        if place.named_run not in (None, run_id):
            return await self._ended(place, str(place.named_run), snapshot, given)
        if not snapshot.tasks:  # `next` leaves out tasks that have ended and are not yet in a checkpoint
            return await self._ended(place, run_id, snapshot, given)
        run = await find_run(self._store(place), run_id)
        overrides = {**(run.settings if run else {}), **place.overrides}
        engine = self.engine.under(overrides)
        check_stored_plan(snapshot.values, engine)
        if given is None or given.resume is None:
            # A kill may have come when some of the questions were asked, or had given way, and some not.
            asked = any(task.interrupts or task.result is not None for task in snapshot.tasks)
            return _Ready(given, run_id, frozenset() if asked else None, overrides=overrides)
        answered = read_resume(given, snapshot, engine)
        return _Ready(answered.command, run_id, answered.steps, overrides=overrides)

    async def _ended(
        self, place: Place, run_id: str, snapshot: StateSnapshot, given: Command[Any] | None
    ) -> _Ready:
        if given is not None:
            raise ApprovalError(f"run {run_id!r} has ended, no approval is pending: nothing was changed")
        document = await stored_document(self._store(place), run_id)
        return _Ready(None, run_id, done=document or dict(snapshot.values))


def _as_chunks(document: dict[str, Any], kwargs: dict[str, Any]) -> list[Any]:
    """An ended run's document as `astream` would give it."""
    mode = kwargs.get("stream_mode") or "values"
    modes = [mode] if isinstance(mode, str) else list(mode)
    if "values" not in modes:
        return []
    if kwargs.get("version") == "v2":
        return [{"type": "values", "ns": (), "data": document, "interrupts": ()}]
    return [document if isinstance(mode, str) else ("values", document)]
