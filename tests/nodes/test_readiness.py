"""What may run, what cannot any more, and what the run does next."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import OnDependencyFailure, Plan, StepStatus, ToolStep
from nodes.decide.readiness import (
    MISSING,
    Move,
    Next,
    Readiness,
    next_move,
    readiness,
    ready_steps,
    replan_causes,
    settle_skips,
)

S = StepStatus
STATUSES = st.sampled_from(StepStatus)


def step(step_id: str, *needs: str, policy: str = "abort", optional: bool = False) -> ToolStep:
    return ToolStep(
        id=step_id,
        tool="t",
        depends_on=needs,
        on_dependency_failure=OnDependencyFailure(policy),
        optional=optional,
    )


def plan(*steps: ToolStep) -> Plan:
    return Plan(plan_id="p", goal="g", steps=steps)


@st.composite
def plans_and_statuses(draw: st.DrawFn) -> tuple[Plan, dict[str, StepStatus]]:
    steps = []
    for index in range(draw(st.integers(1, 8))):
        before = [f"s{n}" for n in range(index)]
        needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
        policy = draw(st.sampled_from(["abort", "skip", "degrade"]))
        steps.append(step(f"s{index}", *needs, policy=policy, optional=draw(st.booleans())))
    statuses = {each.id: draw(st.sampled_from([S.PENDING, S.PENDING, *S])) for each in steps}
    return plan(*draw(st.permutations(steps))), statuses


@given(st.lists(STATUSES, max_size=4), st.sampled_from(["abort", "skip", "degrade"]))
def test_readiness_follows_from_the_dependencies_alone_in_any_order(
    states: list[StepStatus], policy: str
) -> None:
    names = [f"d{n}" for n in range(len(states))]
    statuses = dict(zip(names, states, strict=True))
    found = {readiness(step("x", *order, policy=policy), statuses) for order in permutations(names)}

    lost = any(state in MISSING for state in states)
    settled = all(state.settled for state in states)
    if states and all(state is S.NOT_TAKEN for state in states):
        assert found == {Readiness.NOT_TAKEN}
    elif lost and policy != "degrade":
        assert found == {Readiness.BLOCKED if policy == "abort" else Readiness.SKIP}
    else:
        assert found == {Readiness.READY if settled else Readiness.WAIT}


def test_a_dependency_that_nobody_knows_of_is_waited_for() -> None:
    assert readiness(step("x", "gone"), {}) is Readiness.WAIT


@given(plans_and_statuses())
def test_ready_steps_are_pending_ones_whose_inputs_are_all_settled(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    ready = ready_steps(a_plan, statuses)

    for each in a_plan.steps:
        may = statuses[each.id] is S.PENDING and readiness(each, statuses) is Readiness.READY
        assert (each.id in ready) is may
    assert all(statuses[dep].settled for name in ready for dep in a_plan.step(name).depends_on)


@given(plans_and_statuses())
def test_skips_settle_to_a_fixed_point_and_touch_nothing_else(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    settled = settle_skips(a_plan, statuses)

    assert settle_skips(a_plan, settled) == settled
    changed = {name for name in statuses if settled[name] is not statuses[name]}
    for name in changed:
        assert statuses[name] is S.PENDING
        needs = [settled[dep] for dep in a_plan.step(name).depends_on]
        if settled[name] is S.NOT_TAKEN:
            assert set(needs) == {S.NOT_TAKEN}
            continue
        assert settled[name] is S.SKIPPED
        assert a_plan.step(name).on_dependency_failure is OnDependencyFailure.SKIP
        assert MISSING & set(needs)
    left = [each for each in a_plan.steps if settled[each.id] is S.PENDING]
    assert not {readiness(each, settled) for each in left} & {Readiness.SKIP, Readiness.NOT_TAKEN}


@given(plans_and_statuses(), st.sets(st.sampled_from([f"s{n}" for n in range(8)])), st.booleans())
def test_work_comes_first_then_doubts_then_another_plan_then_questions(
    given_: tuple[Plan, dict[str, StepStatus]], gated: set[str], may_replan: bool
) -> None:
    a_plan, statuses = given_
    statuses = settle_skips(a_plan, statuses)
    causes = replan_causes(a_plan, statuses)
    waiting = {name for name in gated if name in ready_steps(a_plan, statuses)}
    free = [name for name in ready_steps(a_plan, statuses) if name not in waiting]
    doubtful = {each.id for each in a_plan.steps if statuses[each.id] is S.UNKNOWN}

    found = next_move(a_plan, statuses, gated=waiting, causes=causes, may_replan=may_replan)

    if free:
        assert found == Next(Move.EXECUTE, tuple(free))
    elif doubtful and causes and may_replan:
        assert found.move is Move.ASK
        assert doubtful <= set(found.steps) <= doubtful | waiting
    elif causes and may_replan:
        assert found == Next(Move.REPLAN, causes)
    elif doubtful | waiting:
        assert found.move is Move.ASK
        assert set(found.steps) == doubtful | waiting
    else:
        assert found == Next(Move.REPORT)


@given(plans_and_statuses())
def test_nothing_is_reported_while_anything_could_still_run(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    statuses = settle_skips(a_plan, statuses)
    found = next_move(a_plan, statuses, gated=(), causes=(), may_replan=False)

    assert (found.move is Move.REPORT) is (
        not ready_steps(a_plan, statuses) and S.UNKNOWN not in statuses.values()
    )


def test_what_asks_for_another_plan() -> None:
    a_plan = plan(
        step("leaf"),
        step("extra", optional=True),
        step("needed"),
        step("user", "needed"),
        step("wanted_by_none"),
        step("skips", "wanted_by_none", policy="skip"),
        step("said_no"),
        step("said_no_try_another"),
    )
    statuses = dict.fromkeys((each.id for each in a_plan.steps), S.FAILED) | {
        "user": S.PENDING,
        "skips": S.SKIPPED,
        "said_no": S.REJECTED,
        "said_no_try_another": S.REJECTED,
    }

    causes = replan_causes(a_plan, statuses, {"said_no_try_another"})

    assert causes == ("leaf", "needed", "said_no_try_another")


def test_a_skipped_step_that_another_cannot_do_without_asks_for_another_plan() -> None:
    a_plan = plan(step("a", optional=True), step("b", "a", policy="skip"), step("c", "b"))
    statuses = settle_skips(a_plan, {"a": S.FAILED, "b": S.PENDING, "c": S.PENDING})

    assert statuses["b"] is S.SKIPPED
    assert replan_causes(a_plan, statuses) == ("b",)
