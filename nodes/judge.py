"""The next move of a run, judged from its board: shared by the scheduler, validator and replanner."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from graph.plan import MapStep, Plan, PlanrailError, ReferenceFailure, Step, StepStatus, undo_part
from graph.state import Decision, GraphState, Request
from nodes.compensation import steps_to_undo
from nodes.decide.approvals import effective_risk, make_request, rejected_for_replan
from nodes.decide.premises import deviations, held_steps
from nodes.decide.readiness import Move, Next, next_move, ready_steps, replan_causes
from nodes.lanes.arguments import resolved_args
from nodes.lanes.grounds import question_of
from nodes.lanes.map_calls import map_request
from nodes.lanes.rebuild import asks_itself, is_gated, is_planned
from nodes.lanes.work import work_of
from nodes.session import RunSession


@dataclass(frozen=True)
class Judgement:
    """The next move, the questions it asks, and the steps that ask by themselves."""

    next: Next
    requests: dict[str, Request] = field(default_factory=dict)
    asking: frozenset[str] = frozenset()
    stopped_by: str | None = None
    spent_budget: str | None = None


async def judge(session: RunSession, state: GraphState) -> Judgement:
    """Judge what comes next; resolves the arguments of every step that waits for approval.

    Once a run is being undone, only the steps that undo others count; how it was stopped still stands.
    """
    plan, decisions = session.require_board().plan, session.decisions
    undo = undo_part(plan)
    if undo is not None:
        own = {step.id for step in undo.steps}
        stopped = _stop_of(d for step_id, d in decisions.items() if step_id not in own)
        anew = _stop_of(d for step_id, d in decisions.items() if step_id in own)
        return replace(await _judged(session, state, undo, anew), stopped_by=anew or stopped)
    judged = await _judged(session, state, plan, _stop_of(decisions.values()))
    if judged.next.move is Move.REPORT and (done := await steps_to_undo(session, judged.stopped_by)):
        return replace(judged, next=Next(Move.COMPENSATE, done))
    return judged


def _stop_of(decisions: Iterable[Decision]) -> str | None:
    """The decision with which a person ended the run, or None."""
    return next((d["decision"] for d in decisions if "stop" in (d["decision"], d["then"])), None)


async def _judged(session: RunSession, state: GraphState, plan: Plan, stopped_by: str | None) -> Judgement:
    board = session.require_board()
    if stopped_by is not None:
        return Judgement(Next(Move.REPORT), stopped_by=stopped_by)
    spent = session.require_ledger().refused
    if spent is not None:
        return Judgement(Next(Move.REPORT), spent_budget=spent)
    ready = [board.step(step_id) for step_id in ready_steps(plan, board.statuses)]
    planned = tuple(s.id for s in ready if is_planned(s, board.entries.get(s.id)))
    if planned:
        return Judgement(Next(Move.EXPAND, planned))
    broken = deviations(plan, board.entries)
    held = held_steps(plan, board.statuses, broken)
    asking = frozenset(s.id for s in ready if s.id not in held and asks_itself(board.entries.get(s.id)))
    requests = {
        s.id: request
        for s in ready
        if s.id not in asking | held
        and is_gated(session, s)
        and (request := await approval_request(session, s))
    }
    lost = replan_causes(plan, board.statuses, rejected_for_replan(session.decisions, plan.revision))
    causes = tuple(s.id for s in plan.steps if s.id in {*lost, *broken})
    move = next_move(
        plan,
        board.statuses,
        gated={*requests, *asking},
        held=held,
        causes=causes,
        may_replan=not state.get("no_replan") and plan is board.plan,
    )
    if move.move in (Move.EXECUTE, Move.REPLAN) and (late := session.require_ledger().out_of_time()):
        return Judgement(Next(Move.REPORT), spent_budget=late)
    if move.move is Move.ASK:
        doubtful = [s for s in move.steps if board.statuses[s] is StepStatus.UNKNOWN]
        requests |= {s: outcome_request(session, board.step(s)) for s in doubtful}
    return Judgement(move, requests, asking)


async def approval_request(session: RunSession, step: Step) -> Request | None:
    """The question about one ready step; None when it would fail anyway, so nobody need be asked."""
    board, work = session.require_board(), work_of(session, step)
    if isinstance(work.step, MapStep):
        return await map_request(session, work)
    step = work.step
    tool = session.engine.tool_of(step)
    try:
        args = await resolved_args(session, work)
    except (ReferenceFailure, PlanrailError):
        return None
    if tool is not None and (tool.args_problems(args) or tool.denied(args)):
        return None
    reason = await question_of(session, work, args)
    if reason is None:
        return None
    return make_request(
        board.plan,
        step,
        kind="approval",
        run_id=session.run_id,
        risk=effective_risk(step, *session.engine.tools_of(step)),
        args=args,
        shown=tool.redacted(args) if tool else args,
        reason=reason,
    )


def outcome_request(session: RunSession, step: Step) -> Request:
    """The question whether a write in doubt happened."""
    board, step = session.require_board(), work_of(session, step).step
    entry = board.entries[step.id]
    shown = entry.input if isinstance(entry.input, dict) else {}
    return make_request(
        board.plan,
        step,
        kind="outcome",
        run_id=session.run_id,
        risk=effective_risk(step, *session.engine.tools_of(step)),
        args={"attempts": entry.attempts, **shown},
        shown=shown,
        reason=entry.error.message if entry.error else "its outcome is not known",
    )
