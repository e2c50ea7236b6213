"""What a tool gives bit by bit, taken to its end while the tool's time runs."""

import inspect
import itertools
import types
from collections.abc import Callable, Iterator

MAX_ITEMS = 1_000_000
"""Items of a generator that are taken; one that gives more is taken for endless."""

_LAZY = (types.GeneratorType, map, filter, zip, enumerate)


class Endless:
    """Stands for the result of a generator that did not end."""


def drained(value: object, wanted: Callable[[], bool]) -> object:
    """Return the items of a generator, or of a `map` and the like, as a list; any other value as it is.

    Args:
        value: What a tool returned; a generator's code runs here.
        wanted: Whether somebody still waits for the result.
    """
    if not isinstance(value, _LAZY):
        return value
    items = list(itertools.islice(_while(value, wanted), MAX_ITEMS + 1))
    return items if len(items) <= MAX_ITEMS else Endless()


async def drained_async(value: object) -> object:
    """Return the same for what async code returned, async generators included."""
    if not inspect.isasyncgen(value):
        return drained(value, lambda: True)
    items: list[object] = []
    async for item in value:
        items.append(item)
        if len(items) > MAX_ITEMS:
            await value.aclose()
            return Endless()
    return items


def _while(source: Iterator[object], wanted: Callable[[], bool]) -> Iterator[object]:
    for item in source:
        if not wanted():
            return
        yield item
