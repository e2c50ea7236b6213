"""The store: LangGraph's SQLite store, usable from any thread and any number of event loops."""

from collections.abc import Iterable

from langgraph.store.base import BaseStore, Op, PutOp, Result

from checkpoints.worker import Worker


class RunStore(BaseStore):
    """A store on an opened database; each batch is one transaction. Made by `open_store`."""

    supports_ttl = False

    def __init__(self, worker: Worker) -> None:
        """Use an open database.

        Args:
            worker: Runs the database calls.
        """
        self._worker = worker

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction; when one of them fails, none has happened."""
        wanted = list(ops)
        return self._worker.call(lambda database: database.store.batch(wanted), writes=_writes(wanted))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction; when one of them fails, none has happened."""
        wanted = list(ops)
        return await self._worker.acall(lambda database: database.store.batch(wanted), writes=_writes(wanted))

    async def abatch_unsynced(self, ops: Iterable[Op]) -> list[Result]:
        """As `abatch`, but without waiting for the disk: it outlives the process, not a power cut."""
        wanted = list(ops)
        return await self._worker.acall(
            lambda database: database.store.batch(wanted), writes=_writes(wanted), synced=False
        )


def _writes(ops: list[Op]) -> bool:
    return any(isinstance(op, PutOp) for op in ops)
