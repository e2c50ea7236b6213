"""What a step may take ids, addresses and amounts from: goal, params, and what tools gave before it."""

from typing import Any

from graph.plan import AgentStep, Sources, Step, ToolStep, ancestors, given_values, made_by_model
from nodes.session import RunSession


async def sources_for(session: RunSession, step: Step, *more: Any) -> Sources:
    """The sources of one step; `more` are further results at hand. What a model answered is none."""
    board = session.require_board()
    facts: list[Any] = []
    for step_id in ancestors(board.plan, step.id):
        if isinstance(board.step(step_id), ToolStep):
            facts.append(await session.output_of(step_id))
        else:
            facts += await _called(session, step_id)
    own = [step.instruction] if isinstance(step, AgentStep) and not made_by_model(board.plan) else []
    return Sources(*given_values(board.plan), *own, *facts, *more)


async def _called(session: RunSession, step_id: str) -> list[Any]:
    """What the tools gave that an agent called in its step."""
    entries = session.require_board().entries.values()
    calls = [e for e in entries if e.step_id == step_id and e.item is not None and e.status.ok]
    return [await session.journal.output(call) for call in calls]
