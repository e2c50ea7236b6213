"""What a step may take ids, addresses and amounts from: goal, params, and what tools gave before it."""

from typing import Any

from graph.plan import AgentStep, MapStep, Sources, Step, ToolStep, ancestors, given_values, made_by_model
from nodes.session import RunSession


async def sources_for(session: RunSession, step: Step, *more: Any) -> Sources:
    """The sources of one step, or item; `more` are further results at hand. What a model answered is none."""
    board = session.require_board()
    if not more and step.id in board.sources:
        return board.sources[step.id]  # a map's items have the same ones, and there may be thousands
    facts: list[Any] = []
    for step_id in ancestors(board.plan, step.id):
        facts += await _given_by_tools(session, step_id)
    own = [] if made_by_model(board.plan, step.id) else _written_by_people(board.step(step.id))
    sources = Sources(*given_values(board.plan), *own, *facts, *more)
    if not more:
        board.sources[step.id] = sources
    return sources


def _written_by_people(step: Step) -> list[Any]:
    """What a person's plan gives an agent, or the items of a map, beside results."""
    if isinstance(step, MapStep):
        return [step.over, *_written_by_people(step.step)]
    return [step.instruction] if isinstance(step, AgentStep) else []


async def _given_by_tools(session: RunSession, step_id: str) -> list[Any]:
    """What tools gave in a step: its result, or those of the calls that an agent made in it."""
    board = session.require_board()
    step, entry = board.step(step_id), board.entries.get(step_id)
    if isinstance(step, ToolStep) or (entry is not None and entry.fallback is not None):
        return [await session.output_of(step_id)]
    if isinstance(step, MapStep) and isinstance(step.step, ToolStep):
        output = await session.output_of(step_id)
        return [output["results"]] if isinstance(output, dict) else []
    entries = session.require_board().entries.values()
    calls = [e for e in entries if e.of_step == step_id and e.tool is not None and e.item is not None]
    return [await session.journal.output(call) for call in calls if call.status.ok]
