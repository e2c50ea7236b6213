"""Office tasks with a real model. How well they go is reported; only what code guarantees is asserted."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from langchain_core.language_models import BaseChatModel

from graph.plan import canonical_json, check_plan, parse_plan
from graph.state import Settings
from tests.local_model.other_tasks import OTHER_TASKS
from tests.local_model.running import BUDGETS, Outcome, run_task, touched_documents
from tests.local_model.tasks import TASKS, Task

CASES = [
    *(pytest.param(task, id=task.name) for task in TASKS),
    *(pytest.param(task, id=f"other-{task.name}") for task in OTHER_TASKS),
]
ENDS = {"succeeded", "partial", "failed", "rejected", "stopped"}


@pytest.mark.local_model
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("task", CASES)
async def test_a_model_is_held_to_what_code_guarantees(
    task: Task, tmp_path: Path, models: Mapping[str, BaseChatModel], outcomes: list[Outcome]
) -> None:
    outcome = await run_task(task, tmp_path, models)
    outcomes.append(outcome)
    no_invalid_plan_ran(outcome)
    budgets_held(outcome)
    it_ended_honestly(outcome)
    no_effect_was_repeated(outcome)


def no_invalid_plan_ran(outcome: Outcome) -> None:
    """Whatever ran is a step of a plan without problems; only plans that were accepted are written down."""
    registry, limits = outcome.office.tools(), Settings.of(None).plan_limits
    for revision, stored in outcome.plans.items():
        plan, problems = parse_plan(stored)
        assert plan is not None, problems
        found = check_plan(plan, registry, limits)
        # What a later revision took from earlier results has its source in them.
        assert [each for each in found if revision == 1 or each.code != "ungrounded_arg"] == []
    if not outcome.plans:
        assert not outcome.office.refunds()
        assert not outcome.office.replies()
        assert not outcome.office.written


def budgets_held(outcome: Outcome) -> None:
    usage = outcome.document["usage"]
    assert usage["model_calls"] <= BUDGETS["max_model_calls"]
    assert usage["tool_calls"] <= BUDGETS["max_tool_calls"]
    assert usage["input_tokens"] + usage["output_tokens"] <= BUDGETS["max_tokens"]


def it_ended_honestly(outcome: Outcome) -> None:
    """The run says how it ended and why, and names each effect that happened."""
    document = outcome.document
    assert document["status"] in ENDS
    assert document["success"] is (document["status"] == "succeeded")
    assert document["success"] or document["reason"]
    office = outcome.office
    told = Counter(str(effect["tool"]) for effect in document["effects"])
    assert told["issue_refund"] == office.refunds().total()
    assert told["send_reply"] == len(office.replies())
    assert told["write_file"] == len(office.written)
    written = {name for name, _ in office.written}
    assert set(touched_documents(office)) <= written


def no_effect_was_repeated(outcome: Outcome) -> None:
    made = Counter(canonical_json([effect["tool"], effect["args"]]) for effect in outcome.document["effects"])
    assert all(count == 1 for count in made.values()), made
    assert outcome.repeated == 0
