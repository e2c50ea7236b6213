"""replanner: another revision that keeps what is done, or the reason why there is none."""

from collections.abc import Set
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from checkpoints import StepEntry
from graph.plan import (
    History,
    Plan,
    PlanProblem,
    Step,
    StepStatus,
    ToolStep,
    check_plan,
    merge_replan,
    parse_plan,
    with_own_ids,
    without_needless,
)
from graph.state import Dispatch, GraphState
from nodes.compensation import compensate
from nodes.decide.answering import is_answer
from nodes.decide.premises import deviation
from nodes.decide.readiness import Move
from nodes.expansion import expand
from nodes.history import history_of
from nodes.judge import judge
from nodes.lanes.board import Board
from nodes.lanes.rebuild import rebuild
from nodes.prompts import lost_goal, replanner_messages
from nodes.proposals import Read, Request, propose, told_in_words
from nodes.revisions import adopt, replace_steps
from nodes.session import RunSession
from nodes.weighing import why_no_replan_fits
from tools import ToolRegistry

_WITHOUT_MODEL = {Move.EXPAND.value: expand, Move.COMPENSATE.value: compensate}
"""Revisions that follow from what is written down."""


async def replanner(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """Put the next revision into the state, or say why the run goes on without one."""
    session = RunSession.of(runtime)
    plan = session.plan_of(state["plan"])
    board = await rebuild(session, plan, state.get("decisions") or {})
    without_model = _WITHOUT_MODEL.get(state["dispatch"]["move"])
    if without_model is not None:
        return await without_model(session, state)
    history = await history_of(session, state.get("failed_calls") or ())
    written = (await session.load()).plans.get(plan.revision + 1)
    if written is not None:
        revised = Plan.from_json(written)
        await replace_steps(session, revised)  # the process may have ended between the plan and the entries
        return await _adopt(session, state, revised, history)
    refusal = _refusal(session, state)
    if refusal is not None:
        return await _give_up(session, state, refusal)
    failures = {
        s: deviation(board.entries.get(s), plan) or _why(board.entries.get(s))
        for s in state["dispatch"]["steps"]
    }

    def messages(tools: ToolRegistry) -> list[BaseMessage]:
        return replanner_messages(plan, failures, history.completed, tools, session.settings)

    too_dear = why_no_replan_fits(session, messages(session.engine.registry), list(failures))
    if too_dear is not None:
        return await _give_up(session, state, too_dear)
    proposal = await propose(
        session,
        "replanner",
        Request(lost_goal(plan.goal, failures, session.settings), messages),
        read=_read(plan, history, _not_taken(board), session.engine.registry),
        check=lambda new: check_plan(new, session.engine.registry, session.settings.plan_limits, history),
        completed=frozenset(history.completed),
    )
    if proposal.plan is None:
        return await _give_up(session, state, f"no other plan: {proposal.cannot or proposal.answer}")
    revised = told_in_words(session, proposal.plan) if _answers(plan) else proposal.plan
    await replace_steps(session, revised)
    return await _adopt(session, state, revised, history)


def _answers(plan: Plan) -> bool:
    """Whether the plan is to answer in words: a caller's or a template's gives what its author wants."""
    return plan.author == "planner" or any(map(is_answer, plan.steps))


def _refusal(session: RunSession, state: GraphState) -> str | None:
    if session.engine.model("replanner") is None:
        return "no model was given that could replan"
    limit = session.settings.max_replans
    return f"the limit of {limit} replans is reached" if (state.get("replans") or 0) >= limit else None


def _not_taken(board: Board) -> frozenset[str]:
    return frozenset(s for s, status in board.statuses.items() if status is StepStatus.NOT_TAKEN)


def _read(old: Plan, history: History, not_taken: Set[str], registry: ToolRegistry) -> Read:
    def looks_up(step: Step) -> bool:
        return isinstance(step, ToolStep) and registry.reads(step.tool)

    def read(said: dict[str, Any]) -> tuple[Plan | None, tuple[PlanProblem, ...]]:
        told: dict[str, Any] = {key: said[key] for key in ("assumptions", "repairs") if key in said}
        body: dict[str, Any] = {"goal": old.goal, "params": old.params, "steps": said.get("steps"), **told}
        body["steps"], added = _with_known_steps(body["steps"], old, set(history.completed) | not_taken)
        proposal, problems = parse_plan(body, goal=old.goal, plan_id=old.plan_id, author="replanner")
        if proposal is None:
            return None, problems
        proposal = with_own_ids(old, proposal, set(history.completed), added=added, moves=looks_up)
        merged = merge_replan(old, proposal, set(history.completed))
        merged = without_needless(merged, added & not_taken, set(history.completed))
        if len(merged.steps) == len(history.completed):
            return None, (PlanProblem("empty", None, "the plan adds no step to what is already done"),)
        return merged, problems

    return read


def _with_known_steps(steps: Any, old: Plan, known: Set[str]) -> tuple[Any, frozenset[str]]:
    """The proposal with the steps it leaves out that are known, so that it may refer to them.

    Returns:
        The steps, and which were added. Of those the ones that were not taken stay only where they are asked
        about. A proposal may also have them again; either way their conditions are looked at anew.
    """
    if not isinstance(steps, list) or not steps:
        return steps, frozenset()
    given = {str(s.get("id")).strip() for s in steps if isinstance(s, dict)}
    before: Any = old.to_json()["steps"]
    added = [s for s in before if s["id"] in known and s["id"] not in given]
    return [*added, *steps], frozenset(s["id"] for s in added)


def _why(entry: StepEntry | None) -> str:
    if entry is None:
        return "it did not run"
    if entry.error is not None:
        return f"{entry.error.kind}: {entry.error.code}: {entry.error.message}"
    return f"{entry.status.value}: {entry.note}"


async def _adopt(session: RunSession, state: GraphState, plan: Plan, history: History) -> dict[str, Any]:
    more = {
        "replans": (state.get("replans") or 0) + 1,
        "failed_calls": sorted(history.failed_calls),
    }
    return await adopt(session, state, plan, **more)


async def _give_up(session: RunSession, state: GraphState, why: str) -> dict[str, Any]:
    """No other plan: what does not depend on the loss still goes on, then the run reports."""
    judged = await judge(session, GraphState(**{**state, "no_replan": why}))
    update = {"no_replan": judged.spent_budget or why}
    session.emit({"type": "replan_refused", "step": None, "message": why})
    return {**update, "dispatch": Dispatch(move=judged.next.move.value, steps=[], alone=[])}
