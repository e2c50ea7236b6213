"""Where an invocation takes place: its thread, its saver and store, and the lock on its run."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT as LANGCHAIN_RECURSION_LIMIT
from langgraph._internal._config import DEFAULT_RECURSION_LIMIT, ensure_config
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_TASK_ID,
)
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from checkpoints import RunBusyError, check_run_id
from graph.plan import JSON, canonical_json
from graph.state import INVOCATION_KEY, Invocation, overrides_of

RUN_METADATA = "planrail_run"
"""Under this name a checkpoint tells which run it is of, the first ones too, whose state is still empty."""

CompiledGraph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Place:
    """Thread, saver and store of one invocation. `nested` means: inside a node of another graph.

    `given` is the caller's config, `config` what LangGraph makes of it. `position` counts the calls that
    one node makes, from 0. `named_run` is the run that was asked for by its own id instead of its thread's.
    """

    thread_id: str | None
    nested: bool
    checkpointer: BaseCheckpointSaver[Any] | None
    store: BaseStore | None
    given: RunnableConfig
    config: RunnableConfig
    position: int
    named_run: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: CompiledGraph, config: RunnableConfig | None, context: Any = None) -> "Place":
        """Read the config as LangGraph will; a server or a parent graph hands its own parts in it.

        LangChain's own step limit, 25, counts as none: every chain hands it down unasked, and a plan's
        length is bounded by its settings.
        """
        merged = ensure_config(graph.config, config)
        if merged["recursion_limit"] == LANGCHAIN_RECURSION_LIMIT:
            merged["recursion_limit"] = DEFAULT_RECURSION_LIMIT
        known = merged.get("configurable", {})
        saver = known.get(CONFIG_KEY_CHECKPOINTER, graph.checkpointer)
        runtime = known.get(CONFIG_KEY_RUNTIME)
        thread_id = known.get("thread_id")
        nested = CONFIG_KEY_TASK_ID in known
        return cls(
            thread_id=None if thread_id is None else check_run_id(str(thread_id)),
            nested=nested,
            checkpointer=saver if isinstance(saver, BaseCheckpointSaver) else None,
            store=graph.store or getattr(runtime, "store", None),
            given=config or {},
            config=merged,
            position=_next_position(known.get(CONFIG_KEY_SCRATCHPAD)) if nested else 0,
            overrides={} if nested else overrides_of(context),
        )

    def with_invocation(self, invocation: Invocation) -> RunnableConfig:
        """The caller's config with the invocation in it, which is how the nodes get at it."""
        known = {**self.given.get("configurable", {}), INVOCATION_KEY: invocation}
        return {
            **self.given,
            "recursion_limit": self.config["recursion_limit"],
            "configurable": known,
            "metadata": {**self.given.get("metadata", {}), RUN_METADATA: invocation.run_id},
        }

    def at_thread(self, thread_id: str) -> "Place":
        """The place of a later run of that thread, which `THREAD~2` and the like name."""
        given = _with_thread(self.given, thread_id)
        config = _with_thread(self.config, thread_id)
        return replace(self, thread_id=thread_id, given=given, config=config, named_run=self.thread_id)

    def nested_run_id(self, request: JSON) -> str:
        """A run id of its own for each call inside another graph's task; the same after a resume.

        `request` is the call's goal and plan: a node that asks for something else than before does
        not get what it asked for then.
        """
        inside = str(self.config.get("configurable", {}).get(CONFIG_KEY_CHECKPOINT_NS, ""))
        call = canonical_json([self.thread_id, inside, self.position, request])
        mark = sha256(call.encode()).hexdigest()[:16]
        return f"{(self.thread_id or 'nested')[:150]}.{mark}"


def _with_thread(config: RunnableConfig, thread_id: str) -> RunnableConfig:
    return {**config, "configurable": {**config.get("configurable", {}), "thread_id": thread_id}}


_MOST_TASKS = 10_000
_positions: OrderedDict[int, tuple[object, int]] = OrderedDict()
_counting = threading.Lock()


def _next_position(scratchpad: Any) -> int:
    """How many calls a task has made so far. A node that runs again, by a resume or a retry, counts anew.

    LangGraph counts subgraphs too, but goes on counting in a retry; its counter of interrupts is new
    each time, which tells the tries apart. An entry holds on to that counter, so that no other
    object gets its id.
    """
    mark = getattr(scratchpad, "interrupt_counter", None)
    if mark is None:
        return 0
    with _counting:
        position = _positions[id(mark)][1] + 1 if id(mark) in _positions else 0
        _positions[id(mark)] = (mark, position)
        _positions.move_to_end(id(mark))
        if len(_positions) > _MOST_TASKS:
            _positions.popitem(last=False)
    return position


_held: set[tuple[int, str]] = set()


@contextmanager
def hold_run(place: Place) -> Iterator[None]:
    """Hold the run's lock: two processes, or two tasks of one, never work on the same run.

    Raises:
        RunBusyError: Somebody else works on it.
    """
    if place.checkpointer is None or place.thread_id is None or place.nested:
        yield
        return
    run_lock = getattr(place.checkpointer, "run_lock", None)
    if run_lock is not None:
        with run_lock(place.thread_id):
            yield
        return
    mine = (id(place.checkpointer), place.thread_id)
    if mine in _held:
        raise RunBusyError(place.thread_id)
    _held.add(mine)
    try:
        yield
    finally:
        _held.discard(mine)
