"""Bounding what an expression may cost before it is evaluated.

CEL runs to its end whatever it costs, and blocks the whole process meanwhile. Its map and filter copy the
list built so far for every item (measured: 80 ns per value copied and about 400 ns per object entry; mapping
1,000 items to a list of 1,000 took 41 s), so their cost grows with the square of the list.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph.plan.expressions import MAX_CHARS, Expression
from graph.plan.json_values import JSON

MAX_COMPREHENSIONS = 3
_MAX_COPIES = 12_000_000
_MAX_TOUCHED = 100_000_000
_MAX_REGEX_ITEMS = 50
_ENTRY_WEIGHT = 4
_MAX_DEPTH = 100
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1
_BUILDERS = frozenset({"map", "filter"})


@dataclass(frozen=True, slots=True)
class Measure:
    """Size of one value.

    `nodes` counts values, object entries by what copying them costs; `inner` is the largest part of it.
    `copies` is the square of a list's length by the nodes of its largest item, `part_copies` the same by
    the largest part of an item; both for the list where that is most.
    """

    nodes: int
    chars: int = 0
    longest: int = 0
    copies: int = 0
    inner: int = 1
    part_copies: int = 0


def unfit_for_cel(value: JSON) -> str | None:
    """Say why CEL cannot hold a value: nested too deep for its stack, or integers beyond 64 bits."""
    todo: list[JSON] = [value]
    for _ in range(_MAX_DEPTH):
        if not todo:
            return None
        big = next((item for item in todo if type(item) is int and not _MIN_INT <= item <= _MAX_INT), None)
        if isinstance(big, int):
            return f"an integer of {big.bit_length()} bits does not fit; use a plain path"
        todo = [part for item in todo if isinstance(item, (dict, list)) for part in _parts(item)]
    return f"the value is nested deeper than {_MAX_DEPTH} levels; use a plain path" if todo else None


def _parts(value: dict[str, JSON] | list[JSON]) -> Iterable[JSON]:
    return value.values() if isinstance(value, dict) else value


def measure(value: JSON) -> Measure:
    """Measure a value that is fit for CEL."""
    if isinstance(value, str):
        return Measure(1, len(value))
    return _sum(value) if isinstance(value, (dict, list)) else Measure(1)


def _sum(value: dict[str, JSON] | list[JSON]) -> Measure:
    parts = [measure(item) for item in _parts(value)]
    keys = sum(map(len, value)) if isinstance(value, dict) else 0
    weight = _ENTRY_WEIGHT if isinstance(value, dict) else 0
    largest = max((part.nodes for part in parts), default=1)
    largest_part = max((part.inner for part in parts), default=1)
    return Measure(
        nodes=1 + sum(part.nodes + weight for part in parts),
        inner=largest,
        part_copies=max(len(parts) ** 2 * largest_part, max((part.part_copies for part in parts), default=0)),
        chars=keys + sum(part.chars for part in parts),
        longest=max(len(parts), max((part.longest for part in parts), default=0)),
        copies=max(len(parts) ** 2 * largest, max((part.copies for part in parts), default=0)),
    )


def static_cost_fault(expression: Expression, max_chars: int) -> str | None:
    """Say why an expression is too costly whatever the data, or None."""
    if len(expression.text) > max_chars:
        return f"the expression has {len(expression.text)} characters, at most {max_chars} are allowed"
    if any(comprehension.nested for comprehension in expression.comprehensions):
        return "one comprehension (all, exists, map, filter) inside another; split it into two steps"
    if len(expression.comprehensions) > MAX_COMPREHENSIONS:
        return f"more than {MAX_COMPREHENSIONS} comprehensions; split it into several steps"
    return None


def too_costly(expression: Expression, variables: Mapping[str, JSON]) -> str | None:
    """Say why an expression may not be evaluated on these values, or None."""
    faults = (fault for value in variables.values() if (fault := unfit_for_cel(value)) is not None)
    fault = next(faults, None) or static_cost_fault(expression, MAX_CHARS)
    if fault is not None or not expression.comprehensions:
        return fault
    return _size_fault(expression, {name: measure(value) for name, value in variables.items()})


def _size_fault(expression: Expression, sizes: Mapping[str, Measure]) -> str | None:
    longest = max((size.longest for size in sizes.values()), default=0)
    if expression.uses_regex and longest > _MAX_REGEX_ITEMS:
        return f"matches() over a list of {longest} items, at most {_MAX_REGEX_ITEMS} are allowed; use a tool"
    if _copies(expression, sizes) > _MAX_COPIES or _touched(expression, sizes) > _MAX_TOUCHED:
        return f"too costly on lists of up to {longest} items; shorten the list or let a tool do it"
    return None


def _copies(expression: Expression, sizes: Mapping[str, Measure]) -> int:
    """Return how many values map and filter copy at most."""
    joined = (expression.joins + 1) ** 2
    longest = max((size.longest for size in sizes.values()), default=0)
    total, growth = 0, 1
    for comprehension in expression.comprehensions:
        if comprehension.macro in _BUILDERS:
            growth *= max(1, comprehension.names)
            outer = sum(sizes[name].nodes for name in comprehension.outer if name in sizes)
            per_list = [
                size.copies if comprehension.keeps_items else size.part_copies for size in sizes.values()
            ]
            base = max(per_list, default=0)
            total += joined * growth * (base + longest**2 * outer)
    return total


def _touched(expression: Expression, sizes: Mapping[str, Measure]) -> int:
    """Return how many values and characters are read or joined at most."""
    all_data = sum(size.nodes + size.chars for size in sizes.values())
    longest = max((size.longest for size in sizes.values()), default=0) * (expression.joins + 1)
    growth, total = 1, 0
    for comprehension in expression.comprehensions:
        growth *= max(1, comprehension.names)
        outer = sum(sizes[name].nodes for name in comprehension.outer if name in sizes)
        total += all_data * growth + longest * outer
    return total
