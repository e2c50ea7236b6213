"""How a run ends: never better than it went, and never without a reason."""

from hypothesis import assume, given
from hypothesis import strategies as st

from checkpoints import StepEntry, StepError
from graph.plan import Plan, RunStatus, StepStatus
from nodes.decide.outcome import answer_of, cancel_rest, final_status, honest_answer, reason_of
from tests.nodes.test_board import entry
from tests.nodes.test_readiness import plan, plans_and_statuses, step

S = StepStatus
GOOD = {S.SUCCEEDED, S.SKIPPED, S.NOT_TAKEN}


def _closed(a_plan: Plan, statuses: dict[str, StepStatus]) -> dict[str, StepStatus]:
    statuses = {name: S.PENDING if s is S.RUNNING else s for name, s in statuses.items()}
    return cancel_rest(a_plan, statuses, {})


@given(plans_and_statuses())
def test_closing_leaves_nothing_open_and_changes_nothing_settled(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    closed = _closed(a_plan, statuses)

    assert closed.keys() == statuses.keys()
    assert not {S.PENDING, S.WAITING} & set(closed.values())
    kept = {name for name, s in statuses.items() if s not in (S.PENDING, S.WAITING, S.RUNNING)}
    assert all(closed[name] is statuses[name] for name in kept)


def test_a_write_that_was_under_way_is_in_doubt_and_not_cancelled() -> None:
    a_plan = plan(step("w"), step("r"))
    running = {
        name: entry(name, S.RUNNING).model_copy(update={"effect": effect})
        for name, effect in (("w", "write"), ("r", "read"))
    }
    pending = dict.fromkeys(("w", "r"), S.PENDING)
    assert cancel_rest(a_plan, pending, running) == {"w": S.UNKNOWN, "r": S.CANCELLED}


@given(plans_and_statuses())
def test_a_run_succeeds_only_if_every_step_that_is_not_optional_did(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    closed = _closed(a_plan, statuses)
    status = final_status(a_plan, closed)

    good = all(closed[each.id] in GOOD for each in a_plan.steps if not each.optional)
    assert (status is RunStatus.SUCCEEDED) is good
    if not good:
        assert (status is RunStatus.PARTIAL) is (S.SUCCEEDED in closed.values())
    if status is RunStatus.REJECTED:
        assert S.REJECTED in closed.values()


@given(plans_and_statuses(), st.sampled_from(["reject", "stop"]))
def test_a_person_who_ends_the_run_decides_its_status(
    given_: tuple[Plan, dict[str, StepStatus]], how: str
) -> None:
    a_plan, statuses = given_
    wanted = RunStatus.REJECTED if how == "reject" else RunStatus.STOPPED
    assert final_status(a_plan, _closed(a_plan, statuses), stopped_by=how) is wanted


@given(plans_and_statuses())
def test_what_did_not_succeed_has_a_reason_that_names_the_step(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    closed = _closed(a_plan, statuses)
    entries: dict[str, StepEntry] = {
        name: entry(name, S.FAILED).model_copy(
            update={"error": StepError(kind="hard", code="not_found", message=f"no {name}")}
        )
        for name, s in closed.items()
        if s is S.FAILED
    }

    reason = reason_of(a_plan, closed, entries, "the limit is reached")

    told = [name for name, s in closed.items() if s not in (S.SUCCEEDED, S.NOT_TAKEN)]
    assert (reason is not None) is bool(told)
    for name in told:
        assert name in (reason or "")
        if closed[name] is S.FAILED:
            assert f"{name} failed: not_found: no {name}" in (reason or "")
    if final_status(a_plan, closed) is not RunStatus.SUCCEEDED:
        assert reason


@given(plans_and_statuses())
def test_there_is_an_answer_whenever_there_is_a_result(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    closed = _closed(a_plan, statuses)
    outputs = {name: f"result of {name}" for name, s in closed.items() if s is S.SUCCEEDED}

    answer = answer_of(a_plan, closed, outputs)

    assert (answer is not None) is bool(outputs)
    used = {dep for each in a_plan.steps if each.id in outputs for dep in each.depends_on}
    for name, output in outputs.items():
        assert (output in (answer or "")) is (name not in used)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_honest_answer_holds_reason_results_and_effects(reason: str, done: str) -> None:
    assume(reason and done)
    text = honest_answer(reason, done, [{"step": "w", "tool": "pay", "status": "unknown"}])
    assert text.startswith("Not done")
    assert reason in text
    assert done in text
    assert "w (pay, unknown)" in text
