"""The checkpointer: LangGraph's SQLite saver, usable from any thread and any number of event loops."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from checkpoints import checkpoint_rows
from checkpoints.database import Database
from checkpoints.run_lock import RunLock
from checkpoints.worker import Worker

T = TypeVar("T")


class RunSaver(BaseCheckpointSaver[str]):
    """A checkpointer on an opened store. Made by `open_store`."""

    def __init__(
        self,
        worker: Worker,
        run_lock: Callable[[str], RunLock],
        *,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """Use an open database.

        Args:
            worker: Runs the database calls.
            run_lock: Gives the lock of a run by its id.
            serde: How values are written; LangGraph's own by default, strict when its setting says so.
        """
        super().__init__(serde=serde)
        self._worker = worker
        self.run_lock = run_lock

    def _job(self, call: Callable[[SqliteSaver], T]) -> Callable[[Database], T]:
        serde = self.serde  # a clone made by with_allowlist shares the worker but not this

        def run(database: Database) -> T:
            database.saver.serde = serde
            return call(database.saver)

        return run

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the next version of a channel, as LangGraph's SQLite saver counts."""
        return SqliteSaver.get_next_version(self, current, channel)  # type: ignore[arg-type]

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or its thread's latest, or None."""
        return self._worker.call(self._job(lambda saver: saver.get_tuple(config)), writes=False)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or its thread's latest, or None."""
        return await self._worker.acall(self._job(lambda saver: saver.get_tuple(config)), writes=False)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints newest first, reading each one when it is asked for."""
        query = checkpoint_rows.listing(config, filter, before, limit)
        for found in self._worker.call(lambda database: query(database.connection), writes=False):
            checkpoint = self.get_tuple(found)
            if checkpoint is not None:
                yield checkpoint

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints newest first, reading each one when it is asked for."""
        query = checkpoint_rows.listing(config, filter, before, limit)
        for found in await self._worker.acall(lambda database: query(database.connection), writes=False):
            checkpoint = await self.aget_tuple(found)
            if checkpoint is not None:
                yield checkpoint

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return the config that names it."""
        job = self._job(lambda saver: saver.put(config, checkpoint, metadata, new_versions))
        return self._worker.call(job, writes=True)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return the config that names it."""
        job = self._job(lambda saver: saver.put(config, checkpoint, metadata, new_versions))
        return await self._worker.acall(job, writes=True)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what one task wrote after a checkpoint."""
        job = self._job(lambda saver: saver.put_writes(config, writes, task_id, task_path))
        self._worker.call(job, writes=True)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what one task wrote after a checkpoint."""
        job = self._job(lambda saver: saver.put_writes(config, writes, task_id, task_path))
        await self._worker.acall(job, writes=True)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return each channel's writes since its last stored value, along the parent chain."""
        job = self._job(lambda saver: saver.get_delta_channel_history(config=config, channels=channels))
        return self._worker.call(job, writes=False)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return each channel's writes since its last stored value, along the parent chain."""
        job = self._job(lambda saver: saver.get_delta_channel_history(config=config, channels=channels))
        return await self._worker.acall(job, writes=False)

    def delete_thread(self, thread_id: str) -> None:
        """Delete everything of one thread."""
        self._worker.call(self._job(lambda saver: saver.delete_thread(thread_id)), writes=True)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete everything of one thread."""
        await self._worker.acall(self._job(lambda saver: saver.delete_thread(thread_id)), writes=True)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata names one of these LangGraph run ids."""
        job = checkpoint_rows.delete_for_runs(run_ids)
        self._worker.call(lambda database: job(database.connection), writes=True)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata names one of these LangGraph run ids."""
        job = checkpoint_rows.delete_for_runs(run_ids)
        await self._worker.acall(lambda database: job(database.connection), writes=True)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of one thread to another."""
        job = checkpoint_rows.copy_thread(source_thread_id, target_thread_id)
        self._worker.call(lambda database: job(database.connection), writes=True)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of one thread to another."""
        job = checkpoint_rows.copy_thread(source_thread_id, target_thread_id)
        await self._worker.acall(lambda database: job(database.connection), writes=True)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of these threads, or with "delete" all of them."""
        job = checkpoint_rows.prune(thread_ids, strategy)
        self._worker.call(lambda database: job(database.connection), writes=True)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of these threads, or with "delete" all of them."""
        job = checkpoint_rows.prune(thread_ids, strategy)
        await self._worker.acall(lambda database: job(database.connection), writes=True)
