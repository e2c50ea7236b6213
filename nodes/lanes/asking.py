"""How the executor model is asked on behalf of a step: under the caps, and written down before each call."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from graph.plan import AgentStep, LlmStep, PlanStep
from nodes.lanes.admission import GLOBAL_CAP, Demand
from nodes.lanes.run import StepRun
from nodes.models import Ask


def ask_for(
    run: StepRun,
    step: LlmStep | AgentStep | PlanStep,
    before: Callable[[int], None],
    *,
    role: str = "executor",
) -> Ask:
    """The step's way of asking; `before` brings the step's entry up to date, given the number of the try."""
    settings = run.session.settings
    demand = Demand({GLOBAL_CAP: settings.max_concurrency})

    @asynccontextmanager
    async def entering(tries: int) -> AsyncIterator[None]:
        async with run.board.admission.slot(demand, run.board.priority(step.id)):
            before(tries)
            run.session.journal.note(run.entry)
            yield

    return Ask(
        model=run.session.engine.require_model(role),
        spent=run.spent,
        timeout=step.timeout or settings.llm_timeout,
        attempts=step.max_attempts or settings.llm_attempts,
        max_tokens=None if isinstance(step, PlanStep) else step.token_budget,
        entering=entering,
        on_retry=lambda why: run.emit("step_retry", why),
        on_redo=lambda why: run.emit("step_redo", why),
    )
