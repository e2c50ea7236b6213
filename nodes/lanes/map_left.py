"""What a map's items gave when the run ends before the map has."""

from checkpoints import StepEntry, StepError
from graph.plan import JSON, MapStep, StepStatus
from nodes.decide.map_items import items_of, map_output
from nodes.decide.readiness import Statuses
from nodes.lanes.map_calls import listed
from nodes.lanes.results import Result
from nodes.lanes.work import Work
from nodes.session import RunSession


async def entries_with_results(session: RunSession, statuses: Statuses) -> list[StepEntry]:
    """The entries, put on the board too, of maps without a result, with what their ended items gave.

    Args:
        session: The run.
        statuses: How each step of the plan has ended.
    """
    board = session.require_board()
    told = []
    for step in board.plan.steps:
        entry = board.entries.get(step.id)
        if not isinstance(step, MapStep) or entry is None or statuses[step.id].ok:
            continue
        output = await output_so_far(session, step, entry)
        if output is not None:
            board.entries[step.id] = entry.model_copy(update={"output": output})
            told.append(board.entries[step.id])
    return told


async def output_so_far(session: RunSession, step: MapStep, entry: StepEntry) -> JSON:
    """The map's result as far as its items have ended; None when it has one, or none of them has."""
    ended = {
        e.item: e for e in items_of(step.id, session.require_board().entries.values()) if e.status.settled
    }
    unknown = entry.output is None and entry.output_ref is None
    items = await listed(session, Work(step, entry)) if ended and unknown else None
    if items is None or isinstance(items, Result):
        return None
    results: list[JSON] = [None] * len(items)
    errors: dict[int, StepError] = {}
    for at in range(len(items)):
        item = ended.get(at)
        if item is not None and item.status is StepStatus.SUCCEEDED:
            results[at] = await session.journal.output(item)
        elif item is not None and item.error is not None:
            errors[at] = item.error
    return map_output(items, results, errors)
