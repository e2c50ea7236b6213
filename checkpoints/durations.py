"""How long kinds of steps have taken in earlier runs: a running mean for each, beside the journals."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore, GetOp, PutOp

from checkpoints.entries import ENTRY_FORMAT
from checkpoints.errors import StoreFormatError
from checkpoints.packing import unpack
from checkpoints.store import RunStore

DURATIONS = ("planrail", "durations")

REMEMBERED = 100
"""Steps whose weight a mean keeps: a tool that has become slower is known as slow soon."""


async def mean_durations(store: BaseStore, kinds: Collection[str]) -> dict[str, float]:
    """Return the mean seconds of those kinds of steps that any run has timed.

    Args:
        store: The store of the runs.
        kinds: Kinds of steps, such as `tool NAME` or `llm`.
    """
    return {kind: mean for kind, (_, mean) in (await _known(store, kinds)).items()}


async def add_durations(store: BaseStore, taken: Mapping[str, Sequence[float]]) -> None:
    """Take the seconds of a run's steps into the means of their kinds.

    Two runs that end at the same moment may lose one another's; a mean survives that.

    Raises:
        StoreError: When they could not be written.
    """
    known = await _known(store, [kind for kind, seconds in taken.items() if seconds])
    ops = [
        PutOp(DURATIONS, kind, _record(known.get(kind, (0, 0.0)), seconds), False)
        for kind, seconds in taken.items()
        if seconds
    ]
    if ops:
        await (store.abatch_unsynced(ops) if isinstance(store, RunStore) else store.abatch(ops))


async def _known(store: BaseStore, kinds: Collection[str]) -> dict[str, tuple[int, float]]:
    if not kinds:
        return {}
    names = list(dict.fromkeys(kinds))
    found: list[Any] = await store.abatch([GetOp(DURATIONS, name) for name in names])
    read = {name: _read(item.value) for name, item in zip(names, found, strict=True) if item is not None}
    return {name: mean for name, mean in read.items() if mean is not None}


def _read(value: dict[str, Any]) -> tuple[int, float] | None:
    try:
        kept = unpack(value, "a mean duration")
        return int(kept["count"]), float(kept["mean"])
    except (StoreFormatError, KeyError, TypeError, ValueError):
        return None  # of a newer version, or damaged: then nobody knows


def _record(before: tuple[int, float], seconds: Sequence[float]) -> dict[str, Any]:
    weight = min(before[0], REMEMBERED)
    count = weight + len(seconds)
    mean = (weight * before[1] + sum(seconds)) / count
    return {"format": ENTRY_FORMAT, "count": count, "mean": round(mean, 6)}
