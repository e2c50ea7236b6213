"""Two processes that go on with one run at the same time."""

import pytest

from tests.crash.conftest import Runs
from tests.crash.errand import WRITES, effects, lines

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("boundary", [9, 18, 27, 36])
def test_of_two_processes_that_resume_at_once_one_works_and_the_other_is_told(
    runs: Runs, boundary: int
) -> None:
    run = runs.fresh(idempotent=True)
    assert run.killed(kill_at=boundary)
    calls_before = lines(run.folder / "calls")

    # Each killed early enough that tool calls are left, so that neither can end before the other begins.
    run.warm.run([run.job(result=name, slow=0.15) for name in ("one", "two")])

    results = [run.result(name) for name in ("one", "two")]
    assert [result for result in results if "error" in result] == [{"error": "run_busy"}]
    (worked,) = (result for result in results if "error" not in result)
    assert worked["last"]["status"] == "succeeded"
    assert sorted(effects(run.folder)) == sorted(WRITES)
    assert lines(run.folder / "calls")[len(calls_before) :] == worked["new_calls"]


def test_the_lock_of_a_killed_process_is_free_at_once(runs: Runs) -> None:
    run = runs.fresh(idempotent=True)
    for boundary in (9, 20, 28):
        assert run.killed(kill_at=boundary)

    assert run.to_the_end()["last"]["status"] == "succeeded"
