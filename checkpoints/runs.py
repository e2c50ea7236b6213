"""Finding runs in a store, without reading any of their steps."""

from typing import Any

from langgraph.store.base import BaseStore, SearchItem

from checkpoints import keys
from checkpoints.entries import RunEntry
from checkpoints.packing import record

FIRST_PAGE = 1_000
PAGE_GROWTH = 8


def exactly(items: list[Any], namespace: tuple[str, ...]) -> list[SearchItem]:
    # Some stores match namespaces as text patterns and find neighbours too.
    return [item for item in items if tuple(item.namespace) == namespace]


async def find_run(store: BaseStore, run_id: str) -> RunEntry | None:
    """Return the entry of a run, or None when there is no such run.

    Args:
        store: Where entries are kept.
        run_id: The run.

    Raises:
        RunIdError: When the id cannot name a run.
        StoreFormatError: When a newer version wrote the entry, or it is damaged.
    """
    item = await store.aget(keys.RUNS, keys.check_run_id(run_id))
    return None if item is None else record(RunEntry, item.value, f"run {run_id!r}")


async def list_runs(store: BaseStore, *, limit: int = 50) -> list[RunEntry]:
    """Return the newest runs first, without reading any step.

    Args:
        store: Where entries are kept.
        limit: How many at most, at least 1.

    Raises:
        ValueError: When the limit is not a count.
        StoreFormatError: When a newer version wrote an entry, or one is damaged.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit is {limit!r}; give a whole number of at least 1")
    page = FIRST_PAGE
    while len(items := await store.asearch(keys.RUNS, limit=page)) == page:
        page *= PAGE_GROWTH
    runs = [record(RunEntry, item.value, f"run {item.key!r}") for item in exactly(items, keys.RUNS)]
    return sorted(runs, key=lambda run: (run.created_at, run.run_id), reverse=True)[:limit]
