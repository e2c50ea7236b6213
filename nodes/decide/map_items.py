"""A map step's items: what each runs, how many must succeed, and what they come to together."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from checkpoints import StepEntry, StepError
from graph.plan import JSON, ItemStep, MapStep, StepStatus, max_risk
from graph.plan.json_values import json_type
from graph.plan.parts import step_parts

NOT_A_LIST = "not_a_list"
TOO_MANY_ITEMS = "too_many_items"

_NAMED = 3
_MESSAGE_CHARS = 160


def item_step(step: MapStep) -> ItemStep:
    """The step as each item runs it.

    It is as careful as the map, has the map's limits where it has none of its own, and depends on what its
    own parts refer to: what only the list is made from would be noise in each item's prompt.
    """
    inner = step.step
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for part in step_parts(step):
        ids = {each for expression in part.expressions for each in expression.step_ids}
        named[part.field == "step" or part.field.startswith("step.")] |= ids
    return inner.model_copy(
        update={
            "id": step.id,
            "title": inner.title or step.title,
            "depends_on": tuple(d for d in step.depends_on if d in named[True] or d not in named[False]),
            "risk": max_risk(step.risk, inner.risk),
            "require_approval": step.require_approval or inner.require_approval,
            "timeout": inner.timeout or step.timeout,
            "max_attempts": inner.max_attempts or step.max_attempts,
        }
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of a map's items there are, and how many have ended in which way.

    An item `in_doubt` has not ended; nobody knows yet whether its write happened.
    """

    total: int
    succeeded: int = 0
    failed: int = 0
    not_taken: int = 0
    in_doubt: int = 0

    @property
    def ended(self) -> int:
        """Items that have come to their end."""
        return self.succeeded + self.failed + self.not_taken

    @property
    def left(self) -> int:
        """Items that may still succeed, those in doubt too."""
        return self.total - self.ended

    def to_json(self) -> dict[str, int]:
        """The counts as a run's document has them."""
        counts = {"total": self.total, "succeeded": self.succeeded, "failed": self.failed}
        return {**counts, "not_taken": self.not_taken}


def tally_of(total: int, statuses: Iterable[StepStatus]) -> Tally:
    """Count the statuses of a map's items; those that are not among them have not begun."""
    seen = list(statuses)
    return Tally(
        total,
        succeeded=seen.count(StepStatus.SUCCEEDED),
        failed=seen.count(StepStatus.FAILED),
        not_taken=seen.count(StepStatus.NOT_TAKEN),
        in_doubt=seen.count(StepStatus.UNKNOWN),
    )


def list_fault(value: JSON, most: int) -> tuple[str, str] | None:
    """Why a map cannot go over a value, as code and message; None when it can."""
    if not isinstance(value, list):
        return NOT_A_LIST, f"a map goes over a list, this is {json_type(value)}; refer to a list"
    if len(value) > most:
        return TOO_MANY_ITEMS, f"the list has {len(value)} items, at most {most} are allowed (max_map_items)"
    return None


def enough(min_success: float | None, tally: Tally) -> bool:
    """Whether a map whose items have all ended has succeeded.

    An item that was not taken is neither a success nor a failure: a share is one of the items taken.
    """
    if min_success is None:
        return tally.failed == 0
    return tally.succeeded >= _needed(min_success, tally.succeeded + tally.failed)


def out_of_reach(min_success: float | None, tally: Tally) -> bool:
    """Whether not enough items can succeed any more, even if all that are left do."""
    if min_success is None:
        return tally.failed > 0
    best = tally.succeeded + tally.left
    return best < _needed(min_success, best + tally.failed)


def _needed(min_success: float, taken: int) -> int:
    if isinstance(min_success, int):
        return min_success
    return math.ceil(Decimal(str(min_success)) * taken)  # 0.55 of 100 is 55, which binary fractions miss


def failures_text(errors: Mapping[int, StepError], total: int) -> str:
    """The items that failed, in words: how many of all, and the first few by their place in the list."""
    shown = [f"#{at} {errors[at].code}: {_brief(errors[at].message)}" for at in sorted(errors)[:_NAMED]]
    more = f" and {len(errors) - _NAMED} more" if len(errors) > _NAMED else ""
    return f"{len(errors)} of {total} items failed ({'; '.join(shown)}{more})"


def _brief(message: str) -> str:
    return message if len(message) <= _MESSAGE_CHARS else f"{message[:_MESSAGE_CHARS]}..."


def shortfall(min_success: float | None, tally: Tally, errors: Mapping[int, StepError]) -> str:
    """Why a map has failed, in words."""
    told = failures_text(errors, tally.total) if errors else f"{tally.succeeded} of {tally.total} succeeded"
    wanted = "all must succeed" if min_success is None else f"min_success is {min_success}"
    rest = f"; {tally.left} were not begun" if tally.left else ""
    return f"{told}; {wanted}{rest}"


def map_output(
    items: Sequence[JSON], results: Sequence[JSON], errors: Mapping[int, StepError]
) -> dict[str, Any]:
    """A map's result: `results` in the order of the items, and the failures with their items."""
    failures = [
        {"index": at, "item": items[at], "code": errors[at].code, "message": errors[at].message}
        for at in sorted(errors)
    ]
    return {"results": list(results), "failures": failures}


def items_of(step_id: str, entries: Iterable[StepEntry]) -> list[StepEntry]:
    """The entries of a step's items, in their order."""
    found = [entry for entry in entries if entry.item is not None and entry.step_id == step_id]
    return sorted(found, key=lambda entry: entry.item or 0)


def items_told(
    step: MapStep, status: StepStatus, entry: StepEntry | None, entries: Mapping[str, StepEntry]
) -> str | None:
    """What of a map is missing although it succeeded, or how far it came before it was given up."""
    if entry is None or entry.items is None or status not in (StepStatus.SUCCEEDED, StepStatus.CANCELLED):
        return None
    items = items_of(step.id, entries.values())
    errors = {e.item or 0: e.error for e in items if e.status is StepStatus.FAILED and e.error is not None}
    told = failures_text(errors, entry.items) if errors else ""
    if status is StepStatus.SUCCEEDED and entry.fallback is not None:
        return f"{step.id}: its fallback {entry.fallback_tool} took over after {entry.own_failure}"
    if status is StepStatus.SUCCEEDED:
        return f"{step.id}: {told}" if told else None
    tally = tally_of(entry.items, (each.status for each in items))
    stopped = f"{step.id} was stopped after {tally.ended} of {tally.total} items"
    return "; ".join(filter(None, (stopped, told))) if tally.ended else None


def oldest(items: Iterable[StepEntry]) -> dict[str, Any]:
    """The marks of a map that has results of its items in it that are older than they should be."""
    ages = [entry.age or 0.0 for entry in items if entry.stale and entry.status is StepStatus.SUCCEEDED]
    return {"age": max(ages), "stale": True} if ages else {}


def slim(entry: StepEntry) -> StepEntry:
    """An item's entry as it is kept at hand: what a lookup was given is needed nowhere, but journaled."""
    if entry.effect == "write" or not entry.status.settled:
        return entry
    return entry.model_copy(update={"input": None, "input_ref": None})
