"""planner: the first revision, from the caller or from a model; or an answer that needs none."""

import uuid
from typing import Any

from langgraph.runtime import Runtime

from graph.plan import Plan, RunStatus, check_plan
from graph.state import STATE_FORMAT, GraphState
from nodes.progress import RUNNING, document, put_run
from nodes.prompts import planner_messages
from nodes.proposals import Proposal, Request, propose, read_plan, told_in_words
from nodes.session import RunSession
from nodes.templates import from_template


async def planner(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """Put the first revision into the state.

    A plan that the journal already holds is taken as it is: the process ended between writing it
    down and the checkpoint, and the model is not asked again.
    """
    session = RunSession.of(runtime)
    await put_run(session, state, None, **RUNNING)
    proposal = await _proposal(session, state)
    begun = {
        "format": STATE_FORMAT,
        "run_id": session.run_id,
        "goal": state.get("goal") or (proposal.plan.goal if proposal.plan else ""),
        "records": None,
        "decisions": None,
        "no_replan": None,
        "replans": 0,
        "failed_calls": [],
    }
    seen = GraphState(**{**state, **begun})  # type: ignore[typeddict-item]  # resets are None
    if proposal.plan is None:
        return {**begun, **await _end_without_plan(session, seen, proposal)}
    # The run's first effect, or the checkpoint after this node, makes it outlive a power cut as well.
    await session.journal.put_plan(proposal.plan.revision, session.json_of(proposal.plan), synced=False)
    run = await put_run(session, seen, proposal.plan, **RUNNING)
    session.emit({"type": "plan_accepted", "step": None, "message": f"{len(proposal.plan.steps)} steps"})
    shown = await document(session, run, proposal.plan)
    session.known_plan = shown["plan"], proposal.plan
    return {**begun, **shown}


async def _proposal(session: RunSession, state: GraphState) -> Proposal:
    plans = (await session.load()).plans
    if plans:
        return Proposal(plan=Plan.from_json(plans[min(plans)]))
    if state.get("plan") is not None:
        return Proposal(plan=session.plan_of(state["plan"]))
    templated = await from_template(session, state["goal"])
    if templated is not None:
        return Proposal(plan=templated)
    engine = session.engine
    proposal = await propose(
        session,
        "planner",
        Request(state["goal"], lambda tools: planner_messages(state["goal"], tools)),
        read=read_plan(state["goal"], uuid.uuid4().hex, "planner"),
        check=lambda plan: check_plan(plan, engine.registry, session.settings.plan_limits),
    )
    if proposal.plan is None:
        return proposal
    return Proposal(plan=told_in_words(session, proposal.plan))


async def _end_without_plan(session: RunSession, state: GraphState, proposal: Proposal) -> dict[str, Any]:
    answered = proposal.answer is not None
    run = await put_run(
        session,
        state,
        None,
        status=RunStatus.SUCCEEDED if answered else RunStatus.FAILED,
        success=answered,
        answer=proposal.answer,
        reason=proposal.cannot,
    )
    return {**await document(session, run, None), "plan": None}
