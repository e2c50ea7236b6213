"""Putting the plans of `plan` steps in their places: the next revision, without another model call."""

from typing import Any

from checkpoints import StepEntry, StepError
from graph.plan import History, Plan, PlanProblem, PlanStep, StepStatus, check_plan, parse_plan, splice
from graph.state import GraphState
from nodes.history import history_of
from nodes.revisions import adopt
from nodes.session import RunSession


async def expand(session: RunSession, state: GraphState) -> dict[str, Any]:
    """Splice in what was planned for each `plan` step of the dispatch, one revision each.

    A part that was checked alone may be too much beside others: its step then fails.
    """
    board = session.require_board()
    plan, history = board.plan, await history_of(session, state.get("failed_calls") or ())
    written = (await session.load()).plans
    for step_id in state["dispatch"]["steps"]:
        following = written.get(plan.revision + 1)
        after = Plan.from_json(following) if following is not None else None
        if after is not None and _has_its_steps(after, step_id):
            plan = after  # the process ended between the plan and the checkpoint
            continue
        part = _planned_part(plan, board.entries[step_id])
        problems = part_problems(session, plan, step_id, part, history)
        if problems:
            await _fail(session, board.entries[step_id], problems)
            continue
        plan = splice(plan, step_id, part)
        await session.journal.put_plan(plan.revision, plan.to_json())
    return await adopt(session, state, plan)


def part_problems(
    session: RunSession, plan: Plan, step_id: str, part: Plan, history: History
) -> list[PlanProblem]:
    """What keeps `part` from taking its place in the plan, under the ids that it uses itself."""
    if not part.steps:
        return [PlanProblem("empty", None, "the plan has no steps; give at least one, or the answer itself")]
    try:
        revised = splice(plan, step_id, part)
    except ValueError as fault:
        return [PlanProblem("bad_plan", None, str(fault))]
    found = check_plan(revised, session.engine.registry, session.settings.plan_limits, history)
    new = f"{step_id}."
    return [
        PlanProblem(each.code, each.step_id and each.step_id.removeprefix(new), each.message)
        for each in found
        if each.step_id is None or each.step_id.startswith(new) or each.step_id == step_id
    ]


def _has_its_steps(plan: Plan, step_id: str) -> bool:
    return any(s.id == step_id and isinstance(s, PlanStep) and bool(s.sub_steps) for s in plan.steps)


def _planned_part(plan: Plan, entry: StepEntry) -> Plan:
    """What was planned for a `plan` step, as it is kept in the step's entry."""
    part, problems = parse_plan(entry.planned, goal=plan.goal, plan_id=plan.plan_id, author="planner")
    assert part is not None, problems  # it was checked before it was written down
    return part


async def _fail(session: RunSession, entry: StepEntry, problems: list[PlanProblem]) -> None:
    error = StepError(kind="hard", code="bad_plan", message="; ".join(map(str, problems)))
    now = session.engine.now()
    failed = entry.model_copy(update={"status": StepStatus.FAILED, "error": error, "ended_at": now})
    await session.journal.commit(failed)
