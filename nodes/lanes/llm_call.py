"""An llm step: one prompt, soft failures retried, output that does not fit sent back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain_core.messages import BaseMessage, HumanMessage

from graph.plan import LlmStep, StepStatus
from nodes.books import charged
from nodes.lanes.admission import GLOBAL_CAP, Demand
from nodes.lanes.results import Result, failed, failed_call, started
from nodes.lanes.run import StepRun
from nodes.models import Ask, ask
from nodes.prompts import step_messages
from nodes.replies import BadReply, read_step_output
from tools import CallFailed


async def run_llm(run: StepRun, step: LlmStep, instruction: str) -> Result:
    """Ask the executor model until its output fits, at most `redo_attempts` times more."""
    run.entry = run.entry.model_copy(update={"input": {"instruction": instruction}})
    inputs = {dep: await run.session.output_of(dep) for dep in step.depends_on}
    messages: list[BaseMessage] = step_messages(
        step, instruction, run.board.plan.goal, inputs, run.session.settings
    )
    how = _ask_for(run, step)
    problem = ""
    for _ in range(run.session.settings.redo_attempts + 1):
        reply = await ask(run.session.engine, how, messages)
        if isinstance(reply, CallFailed):
            return failed_call(reply)
        try:
            return Result(StepStatus.SUCCEEDED, read_step_output(step, reply))
        except BadReply as bad:
            problem = str(bad)
            run.emit("step_redo", problem)
            messages = [*messages, reply, HumanMessage(f"That does not fit: {problem}. Answer again.")]
    return failed("redo", "output_rejected", problem)


def _ask_for(run: StepRun, step: LlmStep) -> Ask:
    settings = run.session.settings
    demand = Demand({GLOBAL_CAP: settings.max_concurrency})

    @asynccontextmanager
    async def entering(tries: int) -> AsyncIterator[None]:
        async with run.board.admission.slot(demand, run.board.priority(step.id)):
            run.entry = charged(started(run.entry, run.session.engine.now()), run.spent.committed)
            run.emit("step_started" if tries == 0 else "step_attempt")
            run.session.journal.note(run.entry)
            yield

    return Ask(
        model=run.session.engine.require_model("executor"),
        spent=run.spent,
        timeout=step.timeout or settings.llm_timeout,
        attempts=step.max_attempts or settings.llm_attempts,
        max_tokens=step.token_budget,
        entering=entering,
        on_retry=lambda why: run.emit("step_retry", why),
    )
