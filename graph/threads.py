"""Where an invocation takes place: its thread, its saver and store, and the lock on its run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph._internal._config import DEFAULT_RECURSION_LIMIT
from langgraph._internal._constants import (
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_TASK_ID,
)
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore

from checkpoints import RunBusyError, check_run_id
from graph.state import INVOCATION_KEY, Invocation

CompiledGraph = CompiledStateGraph[Any, Any, Any, Any]


@dataclass(frozen=True)
class Place:
    """Thread, saver and store of one invocation. `nested` means: as a node of another graph."""

    thread_id: str | None
    nested: bool
    checkpointer: BaseCheckpointSaver[Any] | None
    store: BaseStore | None
    config: RunnableConfig

    @classmethod
    def of(cls, graph: CompiledGraph, config: RunnableConfig | None) -> "Place":
        """Read the config as LangGraph will; a server or a parent graph hands its own parts in it.

        LangChain's own step limit, 25, counts as none: every chain hands it down unasked, and a plan's
        length is bounded by its settings.
        """
        merged = merge_configs(graph.config, ensure_config(config))
        merged.setdefault("recursion_limit", DEFAULT_RECURSION_LIMIT)
        known = merged.get("configurable", {})
        saver = known.get(CONFIG_KEY_CHECKPOINTER, graph.checkpointer)
        runtime = known.get(CONFIG_KEY_RUNTIME)
        thread_id = known.get("thread_id")
        return cls(
            thread_id=None if thread_id is None else check_run_id(str(thread_id)),
            nested=CONFIG_KEY_TASK_ID in known,
            checkpointer=saver if isinstance(saver, BaseCheckpointSaver) else None,
            store=graph.store or getattr(runtime, "store", None),
            config=merged,
        )

    def with_invocation(self, invocation: Invocation) -> RunnableConfig:
        """The config with the invocation in it, which is how the nodes get at it."""
        known = self.config.get("configurable", {})
        return {**self.config, "configurable": {**known, INVOCATION_KEY: invocation}}

    @property
    def nested_run_id(self) -> str:
        """A run id of its own for a planrail graph inside another graph's task; the same after a resume."""
        inside = str(self.config.get("configurable", {}).get(CONFIG_KEY_CHECKPOINT_NS, ""))
        mark = sha256(f"{self.thread_id}|{inside}".encode()).hexdigest()[:16]
        return f"{(self.thread_id or 'nested')[:150]}.{mark}"


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
