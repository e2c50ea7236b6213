"""A map step: the same step for each item of a list."""

from graph.plan import MapStep, StepStatus
from nodes.decide.approvals import is_approved
from nodes.lanes.binding import bind
from nodes.lanes.map_calls import listed, may_ask, question_about
from nodes.lanes.map_run import CarryOut, ItemQuestion, Items
from nodes.lanes.own_questions import asked_by
from nodes.lanes.results import Result, started
from nodes.lanes.run import StepRun


async def run_map(run: StepRun, step: MapStep, carry_out: CarryOut) -> Result | None:
    """The map's end; None when a person must be asked first; pending when it was stopped before its end.

    Items that ended before are read back, not run again. A failed map keeps what its items gave.

    Args:
        run: The map's execution.
        step: The map.
        carry_out: Runs one item to its end.

    Raises:
        GraphBubbleUp: An item's tool asks a question of its own; no other item is at work then.
    """
    lost = await bind(run)
    if lost is not None:
        return lost
    found = await listed(run.session, run.work)
    if isinstance(found, Result):
        return found
    items = Items(run, step, found, carry_out)
    await items.take_up()
    run.entry = run.entry.model_copy(update={"items": len(found)})
    approval = None
    if may_ask(run.session, run.work):
        stopped = await items.fill_ahead()
        if stopped is not None:
            return stopped
        whole = await question_about(run.session, run.work, found)
        approved = whole is not None and is_approved(step, run.board.plan, whole.args, run.decision)
        if whole is not None and not approved and not items.is_lost:
            return None
        approval = run.decision if approved else None
    _begin(run)
    try:
        result = await items.run_all(approval)
    except ItemQuestion as question:
        raise question.cause from None
    if items.question is not None:
        await _wait(run, items.question)
    return result


def _begin(run: StepRun) -> None:
    run.entry = started(run.entry, run.session.engine.now())
    run.board.entries[run.entry.key] = run.entry
    run.session.journal.note(run.entry)
    run.emit("step_started")


async def _wait(run: StepRun, question: ItemQuestion) -> None:
    """Let the map wait for the next question's own graph task: this one may have taken an answer already.

    LangGraph hands a task's answers out in the order of its questions, counted from the task's beginning.
    """
    gate = {"kind": "question", "asked": asked_by(question.cause, question.item)}
    run.entry = run.entry.model_copy(update={"status": StepStatus.WAITING, "approval": gate})
    run.board.give_back(run.entry)
    await run.session.journal.commit(run.entry)
