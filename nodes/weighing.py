"""Weighing another plan before it is asked for."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from graph.state import model_name
from nodes.decide.budget import NOTHING, scaled
from nodes.decide.weighing import planning_need, redoing_need, why_too_dear
from nodes.endpoint.request import Options
from nodes.ledger import STEPS
from nodes.metering import prompt_tokens
from nodes.session import RunSession


def why_no_replan_fits(
    session: RunSession, messages: Sequence[BaseMessage], lost: Sequence[str]
) -> str | None:
    """Why the run's budgets do not allow another plan, or None.

    Counted are the planning call and one call in the place of each lost step: less helps nobody.

    Args:
        session: The run's session, with its board and ledger.
        messages: What the replanner would be told.
        lost: The steps whose end asks for another plan.
    """
    ledger, board, settings = session.require_ledger(), session.require_board(), session.settings
    planner, executor = (
        model_name(model) if (model := session.engine.model(role)) else ""
        for role in ("replanner", "executor")
    )
    prompt = scaled(prompt_tokens(messages, Options()), ledger.scale(planner))
    open_steps = [step.id for step in board.plan.steps if not board.statuses[step.id].ok]
    need = planning_need(prompt, board.plan, open_steps, settings.price_of(planner))
    redone = [board.step(step_id) for step_id in lost if not board.statuses[step_id].ok]
    need += redoing_need(redone, ledger.books.get(STEPS, NOTHING), settings.price_of(executor))
    return why_too_dear(ledger.run.limits, ledger.total, need)
