"""What outlives a simulated process: a store and a saver, in memory or in a file, behind a fuse."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore

from checkpoints import open_store
from tests.properties.world import Fuse


class Durable(Protocol):
    """Gives each simulated process its own objects over the same data."""

    def opened(self, fuse: Fuse) -> "Any": ...


class _FusedStore(InMemoryStore):
    def __init__(self, shared: InMemoryStore, fuse: Fuse) -> None:
        super().__init__()
        self._data = shared._data
        self._vectors = shared._vectors
        self._fuse = fuse

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        wanted = list(ops)
        self._fuse.point()
        done = await super().abatch(wanted)
        if any(isinstance(op, PutOp) for op in wanted):
            self._fuse.point()
        return done


class _FusedSaver(InMemorySaver):
    def __init__(self, shared: InMemorySaver, fuse: Fuse) -> None:
        super().__init__()
        self.storage, self.writes, self.blobs = shared.storage, shared.writes, shared.blobs
        self.aput = _fused(self.aput, fuse)  # type: ignore[method-assign]
        self.aput_writes = _fused(self.aput_writes, fuse)  # type: ignore[method-assign]


def _fused(method: Callable[..., Awaitable[Any]], fuse: Fuse) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        fuse.point()
        done = await method(*args, **kwargs)
        fuse.point()
        return done

    return call


class Memory:
    """In this process's memory, as a service that lives on would keep it."""

    def __init__(self) -> None:
        self.saver, self.store = InMemorySaver(), InMemoryStore()

    @contextmanager
    def opened(self, fuse: Fuse) -> Iterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
        yield _FusedSaver(self.saver, fuse), _FusedStore(self.store, fuse)


class InFile:
    """In a SQLite file, opened anew by each simulated process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def opened(self, fuse: Fuse) -> Iterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
        with open_store(self.path) as opened:
            saver, store = opened.checkpointer, opened.store
            saver.aput = _fused(saver.aput, fuse)  # type: ignore[method-assign]
            saver.aput_writes = _fused(saver.aput_writes, fuse)  # type: ignore[method-assign]
            store.abatch = _fused(store.abatch, fuse)  # type: ignore[method-assign]
            yield saver, store
