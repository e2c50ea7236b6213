"""The transition table of steps, as a table."""

import pytest

from graph.plan import STEP_TRANSITIONS, StepStatus

S = StepStatus
TABLE = {
    S.PENDING: {S.RUNNING, S.WAITING, S.SUCCEEDED, S.SKIPPED, S.NOT_TAKEN, S.FAILED, S.CANCELLED},
    S.RUNNING: {S.SUCCEEDED, S.FAILED, S.UNKNOWN, S.PENDING, S.WAITING, S.CANCELLED, S.SKIPPED},
    S.WAITING: {S.PENDING, S.RUNNING, S.REJECTED, S.CANCELLED, S.SUCCEEDED, S.FAILED, S.SKIPPED},
    S.UNKNOWN: {S.SUCCEEDED, S.PENDING, S.FAILED, S.CANCELLED},
}


@pytest.mark.parametrize("status", StepStatus)
def test_each_status_leads_only_to_the_statuses_of_the_table(status: StepStatus) -> None:
    assert STEP_TRANSITIONS[status] == TABLE.get(status, set())


@pytest.mark.parametrize("status", StepStatus)
def test_a_status_that_leads_nowhere_is_settled(status: StepStatus) -> None:
    assert status.settled == (not STEP_TRANSITIONS[status])


def test_only_success_is_ok() -> None:
    assert [status for status in StepStatus if status.ok] == [StepStatus.SUCCEEDED]
