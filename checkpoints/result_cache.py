"""Results of lookups that answer equal calls later, in the store that holds the journal."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, PutOp

from checkpoints.entries import ENTRY_FORMAT
from checkpoints.errors import StoreFormatError
from checkpoints.packing import pack, unpack
from checkpoints.runs import FIRST_PAGE, PAGE_GROWTH, exactly
from checkpoints.store import RunStore
from graph.plan.json_values import JSON

RESULTS = ("planrail", "cache", "results")
INDEX = ("planrail", "cache", "index")
"""When each result may go, and how large it is: cleaning up reads no result."""

MAX_RESULT_BYTES = 1_000_000
MAX_RESULTS = 10_000
MAX_BYTES = 100_000_000
_DELETES = 1_000


@dataclass(frozen=True, slots=True)
class KeptResult:
    """What a call gave at the time `at`."""

    output: JSON
    at: datetime

    def age(self, now: datetime) -> float:
        """Seconds since the call, never below 0."""
        return max(0.0, (now - self.at).total_seconds())


class ResultCache:
    """The kept results of one store, for all runs that know a call's key."""

    def __init__(self, store: BaseStore) -> None:
        """Use a store; nothing is read or written yet."""
        self._store = store
        self._has_put = False

    async def get(self, key: str) -> KeptResult | None:
        """Return what was kept under the key, however old; None when there is nothing that can be read."""
        item = await self._store.aget(RESULTS, key)
        if item is None:
            return None
        try:
            kept = unpack(item.value, f"kept result {key}")
            return KeptResult(kept["output"], datetime.fromisoformat(kept["at"]))
        except (
            StoreFormatError,
            KeyError,
            ValueError,
        ):  # of a newer version, or damaged: then it is not there
            return None

    async def put(self, key: str, result: KeptResult, until: datetime) -> bool:
        """Keep a result until a time; False when it is too large to be kept.

        It is there for others when this returns, and outlives the process, though not a power cut.

        Raises:
            StoreError: When it could not be written.
        """
        size = len(json.dumps(result.output, separators=(",", ":")))
        if size > MAX_RESULT_BYTES:
            return False
        kept = pack({"format": ENTRY_FORMAT, "at": result.at.isoformat(), "output": result.output})
        index = {"format": ENTRY_FORMAT, "until": until.isoformat(), "bytes": size}
        await self._write([PutOp(RESULTS, key, kept, False), PutOp(INDEX, key, index, False)])
        self._has_put = True
        return True

    async def clean_up(self, now: datetime) -> None:
        """Drop what is of no use any more, and the oldest when there is too much, if anything was added.

        Raises:
            StoreError: When the store could not be read or written.
        """
        if not self._has_put:
            return
        page = FIRST_PAGE
        while len(items := await self._store.asearch(INDEX, limit=page)) == page:
            page *= PAGE_GROWTH
        found = [(item.key, dict(item.value)) for item in exactly(items, INDEX)]
        gone = overdue(found, now)
        for start in range(0, len(gone), _DELETES):
            keys = gone[start : start + _DELETES]
            await self._write([PutOp(place, key, None) for key in keys for place in (RESULTS, INDEX)])
        self._has_put = False

    async def _write(self, ops: list[PutOp]) -> None:
        store = self._store
        await (store.abatch_unsynced(ops) if isinstance(store, RunStore) else store.abatch(ops))


def overdue(
    found: list[tuple[str, dict[str, Any]]],
    now: datetime,
    *,
    most: int = MAX_RESULTS,
    most_bytes: int = MAX_BYTES,
) -> list[str]:
    """Return the keys of kept results that should go: those past their time, then those that end first.

    Args:
        found: Keys with their index entries, `{"until": ISO time, "bytes": count}`.
        now: The time.
        most: How many results may stay.
        most_bytes: How much room they may take together.
    """
    dated = sorted(((_until(entry), key, int(entry.get("bytes", 0))) for key, entry in found), reverse=True)
    gone, room = [], most_bytes
    for place, (until, key, size) in enumerate(dated):
        room -= size
        if until <= now.isoformat() or place >= most or room < 0:
            gone.append(key)
    return gone


def _until(entry: dict[str, Any]) -> str:
    return str(entry.get("until", ""))
