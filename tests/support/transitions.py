"""A journal that holds what runs write against the transition table of steps."""

from typing import Any

from checkpoints import Journal, RunLog, StepEntry
from graph.plan import STEP_TRANSITIONS, StepStatus


class WatchedJournal(Journal):
    """Adds to `broken` each change of a step that the table does not have."""

    def __init__(self, *args: Any, broken: list[str], **kwargs: Any) -> None:
        """Open it; nothing is known of the run's steps before it is loaded."""
        super().__init__(*args, **kwargs)
        self._broken = broken
        self._last: dict[str, StepEntry] = {}

    async def load(self) -> RunLog:
        log = await super().load()
        self._last |= log.steps
        return log

    def note(self, *entries: StepEntry) -> tuple[StepEntry, ...]:
        self._watch(entries)
        return super().note(*entries)

    async def commit(self, *entries: StepEntry, synced: bool = True) -> tuple[StepEntry, ...]:
        self._watch(entries)
        return await super().commit(*entries, synced=synced)

    def _watch(self, entries: tuple[StepEntry, ...]) -> None:
        for entry in entries:
            before = self._last.get(entry.key)
            if not _may_follow(before, entry):
                was = before.status.value if before else "nothing"
                self._broken.append(f"{entry.key} ({entry.action}) went from {was} to {entry.status.value}")
            self._last[entry.key] = entry


def _may_follow(before: StepEntry | None, entry: StepEntry) -> bool:
    if before is None and entry.step_id.partition("@r")[2].isdigit():
        return True  # how a step ended, under the id by which it is set aside
    was = before.status if before else StepStatus.PENDING
    if before is not None and was.settled and entry.revision > before.revision:
        return entry.status is StepStatus.PENDING  # another plan's step, under the id of one set aside
    return entry.status is was or entry.status in STEP_TRANSITIONS[was]
