"""A part whose process ended."""

from typing import Any

import pytest

from checkpoints import Journal, StepEntry
from tests.executor.shop import Shop, graph, statuses, step, thread
from tests.support.models import says

Json = dict[str, Any]


class EndedError(Exception):
    """Stands for the end of the process."""


async def test_a_part_that_was_planned_is_not_planned_again_where_the_process_ended_with_its_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = Journal.commit

    async def commit_and_end(self: Journal, *entries: StepEntry, synced: bool = True) -> Any:
        stored = await commit(self, *entries, synced=synced)
        if any(entry.planned is not None for entry in entries):
            monkeypatch.setattr(Journal, "commit", commit)
            raise EndedError
        return stored

    monkeypatch.setattr(Journal, "commit", commit_and_end)
    model = says({"plan": {"steps": [step("a", "read", {"page": "1"})]}})
    built = graph(Shop(), model)
    plan = {"goal": "g", "steps": [{"id": "p", "action": "plan", "goal": "read"}]}
    with pytest.raises(EndedError):
        await built.ainvoke({"goal": "g", "plan": plan}, thread())

    document: Json = await built.ainvoke(None, thread())

    assert statuses(document) == {"p.a": "succeeded", "p": "succeeded"}
    assert len(model.prompts) == 1
