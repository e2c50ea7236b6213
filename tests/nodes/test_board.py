"""The board: one claim per step, in any order of events, and never one whose inputs are missing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkpoints import StepEntry
from graph.plan import Plan, Step, StepStatus
from nodes.decide.readiness import readiness, settle_skips
from nodes.lanes.board import Board
from tests.nodes.test_readiness import plan, plans_and_statuses, step

S = StepStatus
ENDS = st.sampled_from([S.SUCCEEDED, S.SUCCEEDED, S.FAILED, S.UNKNOWN])


def entry(step_id: str, status: StepStatus) -> StepEntry:
    return StepEntry(run_id="r", plan_id="p", revision=1, step_id=step_id, action="tool", status=status)


def board(
    a_plan: Plan, statuses: dict[str, StepStatus] | None = None, gated: frozenset[str] = frozenset()
) -> Board:
    entries = {name: entry(name, status) for name, status in (statuses or {}).items()}

    def gate(each: Step) -> bool:
        return each.id in gated

    return Board(a_plan, entries, gate=gate)


@given(plans_and_statuses())
def test_a_rebuilt_board_takes_up_what_was_open_and_keeps_what_was_settled(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, statuses = given_
    open_again = {S.RUNNING, S.WAITING}
    journaled = {name: S.PENDING if s in open_again else s for name, s in statuses.items()}

    rebuilt = board(a_plan, statuses)

    assert rebuilt.statuses == settle_skips(a_plan, journaled)
    assert rebuilt.take_changes() == {
        name: s for name, s in rebuilt.statuses.items() if s is not journaled[name]
    }
    assert rebuilt.take_changes() == {}


@given(plans_and_statuses(), st.data())
def test_every_step_is_claimed_once_when_its_inputs_are_there_and_none_is_forgotten(
    given_: tuple[Plan, Any], data: st.DataObject
) -> None:
    a_plan, _ = given_
    gated = frozenset(data.draw(st.sets(st.sampled_from([each.id for each in a_plan.steps]), max_size=2)))
    the_board = board(a_plan, gated=gated)
    running = [each.id for each in a_plan.steps if not each.depends_on and each.id not in gated]
    assert all(the_board.claim(name) for name in running)
    claimed = list(running)
    while running:
        name = data.draw(st.sampled_from(running))
        running.remove(name)
        the_board.record(entry(name, data.draw(ENDS)))
        following = the_board.claim_dependents(name)
        assert not set(following) & (set(claimed) | gated)
        for each in following:
            needs = a_plan.step(each).depends_on
            assert all(the_board.statuses[dep].settled for dep in needs)
        assert [the_board.priority(each) for each in following] == sorted(
            (the_board.priority(each) for each in following), reverse=True
        )
        claimed += following
        running += following

    assert the_board.statuses == settle_skips(a_plan, the_board.statuses)
    left = [each for each in a_plan.steps if each.id not in claimed and each.id not in gated]
    pending = [each for each in left if the_board.statuses[each.id] is S.PENDING]
    assert all(readiness(each, the_board.statuses).value != "ready" for each in pending)


def test_nothing_starts_once_it_is_halted_or_draining() -> None:
    a_plan = plan(step("a"), step("b"), step("c"))
    the_board = board(a_plan)
    assert the_board.claim("a")
    the_board.draining = lambda: True
    assert not the_board.claim("b")
    the_board.draining = lambda: False
    first, second = OSError("first"), OSError("second")
    the_board.halt(first)
    the_board.halt(second)
    assert not the_board.claim("b")
    assert the_board.halted is first


def test_a_step_that_was_given_back_is_nobodys_until_the_next_board() -> None:
    a_plan = plan(step("a"))
    the_board = board(a_plan)
    assert the_board.claim("a")
    the_board.give_back(entry("a", S.WAITING))

    assert not the_board.claim("a")
    assert the_board.take_changes() == {"a": S.WAITING}
    assert board(a_plan, {"a": S.WAITING}).claim("a")


async def test_idle_is_when_no_step_runs_any_more() -> None:
    the_board = board(plan(step("a")))
    await the_board.idle()
    the_board.enter()
    the_board.enter()
    the_board.leave()
    assert not the_board._idle.is_set()
    the_board.leave()
    await the_board.idle()


@given(plans_and_statuses())
def test_what_follows_from_the_plan_alone_is_taken_from_the_board_before(
    given_: tuple[Plan, dict[str, StepStatus]],
) -> None:
    a_plan, _ = given_
    before = board(a_plan)

    again = Board(a_plan, {}, gate=lambda _: False, before=before)
    assert again.shape is before.shape

    fewer = Plan(plan_id="p", revision=2, goal="g", steps=a_plan.steps[:1])
    assert Board(fewer, {}, gate=lambda _: False, before=before).shape == board(fewer).shape
