"""validator: does the plan still hold? Runs once all lanes of a superstep have ended."""

from typing import Any

from langgraph.runtime import Runtime

from graph.state import Dispatch, GraphState
from nodes.judge import judge
from nodes.lanes.rebuild import rebuild
from nodes.premises import check_premises
from nodes.session import RunSession


async def validator(state: GraphState, runtime: Runtime[None]) -> dict[str, Any]:
    """Judge the results, by rule (a lost critical step means that the plan must change) and by model."""
    session = RunSession.of(runtime)
    await rebuild(session, session.plan_of(state["plan"]), state.get("decisions") or {})
    await check_premises(session)
    judged = await judge(session, state)
    return {"dispatch": Dispatch(move=judged.next.move.value, steps=list(judged.next.steps), alone=[])}
