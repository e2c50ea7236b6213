"""Writes that were done before the plan was changed: a map of the new revision makes none of them again."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from checkpoints import StepEntry
from graph.plan import call_digest
from nodes.decide.written import digests_before_fallback, written_digests
from nodes.lanes.board import Board
from tools import RegisteredTool, idempotency_key

REPLANNED = "replanner"
"""The author of a revision that replaces what was lost; a part that is planned late replaces nothing."""


class DoneBefore:
    """Done writes by their calls, each of which answers one item.

    Those of replaced maps and agents, and those of steps that a replan has kept: what a check of the plan
    refuses where it knows the arguments, an item finds out when it has them.
    """

    def __init__(self, board: Board, taken: Iterable[StepEntry] = ()) -> None:
        """Look for them; `taken` are items that have taken over the result of one already."""
        self._plan_id = board.plan.plan_id
        keys = {entry.idempotency_key for entry in taken if entry.effect is None}
        self._by_call: defaultdict[str, list[StepEntry]] = defaultdict(list)
        for entry in board.entries.values():
            if not _is_of_before(entry, board) or entry.idempotency_key in keys:
                continue
            for digest in written_digests(entry) | digests_before_fallback(entry):
                self._by_call[digest].append(entry)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._by_call)

    def take(self, tool: RegisteredTool, args: Mapping[str, Any]) -> StepEntry | None:
        """The entry of the same call that was done before and answers no other item."""
        shown = tool.redacted(args)
        found = self._by_call.get(call_digest(tool.name, shown)) if self._by_call else None
        for entry in found or ():
            if shown == dict(args) or entry.idempotency_key == self._key_of(entry, tool, args):
                self._by_call[call_digest(tool.name, shown)].remove(entry)
                return entry
        return None

    def _key_of(self, entry: StepEntry, tool: RegisteredTool, args: Mapping[str, Any]) -> str:
        """The key that the entry's call would have with these arguments: secret ones are not in an entry."""
        step_id = entry.step_id.rpartition("@r")[0] or entry.step_id
        return idempotency_key(self._plan_id, step_id, entry.item, tool.name, args)


def _is_of_before(entry: StepEntry, board: Board) -> bool:
    set_aside = entry.of_step not in board.shape.steps
    kept = board.plan.author == REPLANNED and entry.item is None and entry.revision < board.plan.revision
    return set_aside or kept
