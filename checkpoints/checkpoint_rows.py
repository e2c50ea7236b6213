"""SQL over the saver's two tables for what LangGraph's SQLite saver leaves out; all parameterised."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.utils import search_where


def listing(
    config: RunnableConfig | None,
    filters: dict[str, Any] | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> Callable[[sqlite3.Connection], list[RunnableConfig]]:
    """Return a query for the configs of matching checkpoints, newest first, without their contents.

    Args:
        config: Thread, namespace and checkpoint to match, or None for all.
        filters: Metadata keys and the values they must have.
        before: Only checkpoints older than this one.
        limit: How many at most.

    Raises:
        ValueError: When the limit is not a count, or a metadata key is not a plain name.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit is {limit!r}; give a whole number of at least 0, or None for all")
    where, values = search_where(config, filters, before)
    sql = (
        f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where} "  # noqa: S608 - columns only
        "ORDER BY checkpoint_id DESC LIMIT ?"
    )

    def run(connection: sqlite3.Connection) -> list[RunnableConfig]:
        return [_config(row) for row in connection.execute(sql, (*values, -1 if limit is None else limit))]

    return run


def _config(row: tuple[str, str, str]) -> RunnableConfig:
    thread_id, namespace, checkpoint_id = row
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def delete_for_runs(run_ids: Sequence[str]) -> Callable[[sqlite3.Connection], None]:
    """Return a job that deletes the checkpoints of these LangGraph runs, and their writes."""
    wanted = [(str(run_id),) for run_id in run_ids]
    of_runs = "json_extract(CAST(metadata AS TEXT), '$.run_id') = ?"

    def run(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "DELETE FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN "  # noqa: S608 - no input in it
            f"(SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE {of_runs})",
            wanted,
        )
        connection.executemany(f"DELETE FROM checkpoints WHERE {of_runs}", wanted)  # noqa: S608 - no input in it

    return run


def copy_thread(source: str, target: str) -> Callable[[sqlite3.Connection], None]:
    """Return a job that copies all rows of one thread to another thread id."""

    def run(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id,"
            " parent_checkpoint_id, type, checkpoint, metadata)"
            " SELECT ?, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
            " FROM checkpoints WHERE thread_id = ?",
            (target, source),
        )
        connection.execute(
            "INSERT OR REPLACE INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id,"
            " task_path, idx, channel, type, value)"
            " SELECT ?, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"
            " FROM writes WHERE thread_id = ?",
            (target, source),
        )

    return run


def prune(thread_ids: Sequence[str], strategy: str) -> Callable[[sqlite3.Connection], None]:
    """Return a job that deletes old checkpoints of threads, or all of them.

    A thread with delta channels keeps all: its latest checkpoint is not whole without the ones before it.

    Args:
        thread_ids: The threads.
        strategy: "keep_latest" keeps the newest checkpoint of each namespace, "delete" keeps none.

    Raises:
        ValueError: When the strategy is another one.
    """
    if strategy not in {"keep_latest", "delete"}:
        raise ValueError(f"prune strategy is {strategy!r}; give 'keep_latest' or 'delete'")
    threads = [(str(thread_id),) for thread_id in thread_ids]

    def run(connection: sqlite3.Connection) -> None:
        connection.executemany(_DELETE_OLDER if strategy == "keep_latest" else _DELETE_ALL, threads)
        connection.executemany(_DELETE_ORPHANED_WRITES, threads)

    return run


_DELETE_ALL = "DELETE FROM checkpoints WHERE thread_id = ?"

_DELETE_OLDER = """
DELETE FROM checkpoints AS old
WHERE thread_id = ?
  AND checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints
    WHERE thread_id = old.thread_id AND checkpoint_ns = old.checkpoint_ns)
  AND NOT EXISTS (
    SELECT 1 FROM checkpoints
    WHERE thread_id = old.thread_id
      AND json_extract(CAST(metadata AS TEXT), '$.counters_since_delta_snapshot') IS NOT NULL)
"""

_DELETE_ORPHANED_WRITES = """
DELETE FROM writes
WHERE thread_id = ?
  AND NOT EXISTS (
    SELECT 1 FROM checkpoints
    WHERE thread_id = writes.thread_id
      AND checkpoint_ns = writes.checkpoint_ns
      AND checkpoint_id = writes.checkpoint_id)
"""
