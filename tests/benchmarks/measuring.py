"""How a busy machine is measured: by turns, over and over, with the medians compared."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

Work = Callable[[], Awaitable[Any]]
Pairs = list[tuple[float, float]]
"""Seconds of two works that were done by turns."""


async def seconds(work: Work) -> float:
    """How long the work takes, begun without garbage of what was before."""
    gc.collect()
    begin = time.perf_counter()
    await work()
    return time.perf_counter() - begin


async def by_turns(one: Work, other: Work, rounds: int) -> Pairs:
    """Seconds of both, pair by pair; each goes first in every second pair."""
    pairs: Pairs = []
    for turn in range(rounds):
        if turn % 2:
            second = await seconds(other)
            pairs.append((await seconds(one), second))
        else:
            first = await seconds(one)
            pairs.append((first, await seconds(other)))
    return pairs


async def within(
    limit: float, measure: Callable[[], Awaitable[T]], figure: Callable[[T], float], tries: int = 3
) -> T:
    """The first measurement whose figure keeps the limit, or the best one; a noisy moment is no verdict."""
    found: list[T] = []
    while len(found) < tries:
        found.append(await measure())
        if figure(found[-1]) <= limit:
            break
    return min(found, key=figure)


def ratio_of(pairs: Pairs) -> float:
    """How much longer the first of each pair takes: by the median pair, or by the quickest of both.

    The lesser counts. Other work on the machine only ever adds to a time, and most to what waits for
    another thread.
    """
    return min(_median_ratio(pairs), _quickest_ratio(pairs))


def in_row(pairs: Pairs, steps: int) -> str:
    """Both ratios, and the medians of both sides in milliseconds per step, for the table."""
    one, other = (statistics.median(side) / steps * 1e3 for side in zip(*pairs, strict=True))
    ratios = f"median {_median_ratio(pairs):.2f}x, quickest {_quickest_ratio(pairs):.2f}x"
    return f"{ratios} ({one:.2f} ms, {other:.2f} ms)"


def _median_ratio(pairs: Pairs) -> float:
    return statistics.median(one / other for one, other in pairs)


def _quickest_ratio(pairs: Pairs) -> float:
    return min(one for one, _ in pairs) / min(other for _, other in pairs)


def bytes_of(database: Path) -> int:
    """The size of a closed database with all that SQLite keeps beside it."""
    beside = database.parent.glob(database.name + "*")
    return sum(file.stat().st_size for file in beside if file.is_file())
