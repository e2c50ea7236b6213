"""Which steps are due for a check, and what a verdict means: the pure part."""

from typing import Any

import pytest

from checkpoints import StepEntry
from graph.plan import Plan, StepStatus
from nodes.decide.premises import (
    Checks,
    deviation,
    deviations,
    doubt,
    due_after,
    due_before,
    held_steps,
    unchecked,
    verdict_of,
)
from tests.validator.support import Desk, call
from tools import ToolRegistry

REGISTRY = ToolRegistry.of(*Desk().tools())
PLAN = Plan.from_json(
    {
        "goal": "g",
        "plan_id": "p",
        "revision": 2,
        "steps": [call("find", "look"), call("tell", "put", "find"), call("after", "look", "tell")],
    }
)
FOUND = {"find": StepStatus.SUCCEEDED}
NO = {"valid": False, "broken_assumption": "it was shipped", "reason": "it was not"}
YES = {"valid": True, "broken_assumption": None, "reason": "fine"}


def entry(step_id: str, status: StepStatus, premise: Any = None) -> StepEntry:
    return StepEntry(
        run_id="r",
        plan_id="p",
        revision=2,
        step_id=step_id,
        action="tool",
        tool="put",
        status=status,
        premise=premise,
    )


def due(
    step_id: str, statuses: dict[str, StepStatus], *entries: StepEntry, checks: Checks = Checks.KEY
) -> bool:
    step = PLAN.step(step_id)
    tool = REGISTRY.get(getattr(step, "tool", ""))
    known = {each.step_id: each for each in entries}
    return due_before(step, tool, PLAN, statuses=statuses, entries=known, checks=checks)


def test_a_write_is_due_once_something_is_known_and_until_it_was_judged_in_this_revision() -> None:
    judged = verdict_of("before", PLAN, YES)

    assert due("tell", FOUND)
    assert not due("tell", {})
    assert not due("tell", FOUND, checks=Checks.OFF)
    assert not due("find", FOUND)
    assert not due("tell", FOUND, entry("tell", StepStatus.PENDING, judged))
    assert due("tell", FOUND, entry("tell", StepStatus.PENDING, {**judged, "revision": 1}))


def test_a_write_that_a_killed_process_had_begun_is_not_judged_again() -> None:
    assert not due("tell", FOUND, entry("tell", StepStatus.RUNNING))


@pytest.mark.parametrize(
    ("tool", "verify", "checks", "expected"),
    [
        ("look", False, Checks.KEY, False),
        ("look", True, Checks.KEY, True),
        ("pay", False, Checks.KEY, True),
        ("look", False, Checks.EVERY, True),
        ("pay", True, Checks.OFF, False),
    ],
)
def test_a_result_is_due_where_it_matters(tool: str, verify: bool, checks: Checks, expected: bool) -> None:
    step = PLAN.steps[0].model_copy(update={"tool": tool, "verify": verify})
    done = entry("find", StepStatus.SUCCEEDED)
    judged = entry("find", StepStatus.SUCCEEDED, verdict_of("after", PLAN, YES))

    assert due_after(step, REGISTRY.get(tool), done, checks) is expected
    assert not due_after(step, REGISTRY.get(tool), judged, checks)
    assert not due_after(step, REGISTRY.get(tool), entry("find", StepStatus.FAILED), checks)


def test_a_verdict_counts_in_its_own_revision_only() -> None:
    broken = entry("find", StepStatus.SUCCEEDED, verdict_of("after", PLAN, NO))
    later = PLAN.model_copy(update={"revision": 3})

    assert deviation(broken, PLAN) == "the plan no longer holds: it was shipped (it was not)"
    assert deviations(PLAN, {"find": broken}) == {"find": deviation(broken, PLAN)}
    assert deviation(broken, later) is None
    assert deviations(later, {"find": broken}) == {}


def test_a_broken_premise_without_a_name_is_told_by_its_reason() -> None:
    verdict = verdict_of("after", PLAN, {**NO, "broken_assumption": None})

    assert (
        deviation(entry("find", StepStatus.SUCCEEDED, verdict), PLAN)
        == "the plan no longer holds: it was not"
    )


def test_what_builds_on_a_broken_premise_is_held() -> None:
    assert held_steps(PLAN, FOUND, {"find": "why"}) == {"tell"}
    assert held_steps(PLAN, FOUND, {"tell": "why"}) == {"tell"}
    assert held_steps(PLAN, FOUND, {}) == frozenset()


def test_only_a_write_without_a_verdict_is_for_a_person() -> None:
    failed = unchecked("before", PLAN, "no answer")

    assert "no answer" in (doubt(entry("tell", StepStatus.PENDING, failed), PLAN) or "")
    assert doubt(entry("tell", StepStatus.PENDING, verdict_of("before", PLAN, YES)), PLAN) is None
    assert doubt(entry("find", StepStatus.SUCCEEDED, unchecked("after", PLAN, "no answer")), PLAN) is None
    assert doubt(None, PLAN) is None
