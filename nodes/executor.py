"""executor: one lane. It starts with the step the scheduler sent and goes on along the plan."""

from typing import Any

from langgraph.runtime import Runtime

from graph.state import StepTask
from nodes.lanes.rebuild import ensure_board, is_planned
from nodes.lanes.step import run_step
from nodes.lanes.walk import walk
from nodes.progress import step_states
from nodes.session import RunSession


async def executor(state: StepTask, runtime: Runtime[None]) -> dict[str, Any]:
    """Walk a lane; with `alone` run the one step whose tool asks a person by itself."""
    session = RunSession.of(runtime)
    step_id = state["step"]
    alone = state.get("alone", False)
    if alone and session.gives_way(step_id):
        return {}
    board = await ensure_board(session)
    if is_planned(board.step(step_id), board.entries.get(step_id)):
        return {}  # by a process that ended before the scheduler could put its steps in

    async def run(current: str) -> None:
        await run_step(session, current, session.decisions.get(current), alone=alone)

    if alone:
        if board.claim(step_id):
            await run(step_id)
    else:
        await walk(board, step_id, run, follow=session.settings.scheduling == "lanes")
    return {"records": step_states(board, board.take_changes())}
