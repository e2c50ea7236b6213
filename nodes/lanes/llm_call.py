"""An llm step: one prompt, soft failures retried, output that does not fit sent back."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from graph.plan import LlmStep, Sources, StepStatus
from nodes.books import charged
from nodes.decide.answering import is_answer, made_up_fault
from nodes.endpoint.inner_schema import as_part
from nodes.endpoint.objects import object_of, said
from nodes.endpoint.request import speaks_openai
from nodes.endpoint.strict import without_absent
from nodes.endpoint.structured import Form, ask_in_form
from nodes.lanes.arguments import input_blocks, inputs_of
from nodes.lanes.asking import ask_for
from nodes.lanes.conditions import Expects, expectation, expected
from nodes.lanes.results import Result, failed, failed_call, started
from nodes.lanes.run import StepRun
from nodes.models import Ask, ask
from nodes.prompts import step_messages
from nodes.replies import BadReply, fitting_answer, read_step_output
from tools import CallFailed

NAME = "result"
"""What models are told that the step's answer is called."""


async def run_llm(run: StepRun, step: LlmStep, instruction: str) -> Result:
    """Ask the model of its role until its output fits, at most `redo_attempts` times more."""
    run.entry = run.entry.model_copy(update={"input": {"instruction": instruction}})
    inputs = await input_blocks(run.session, step)
    expects = await _expectation(run, step, instruction)
    messages: list[BaseMessage] = step_messages(
        step, instruction, run.board.plan.goal, inputs, run.session.settings
    )
    how = _ask_for(run, step)
    form = _form_of(step, how.model)
    problem = ""
    for left in reversed(range(run.session.settings.redo_attempts + 1)):
        reply = await _asked(run, how, messages, form)
        if isinstance(reply, CallFailed):
            return failed_call(reply)
        try:
            return Result(StepStatus.SUCCEEDED, expected(_read(step, reply, form), expects))
        except BadReply as bad:
            problem = str(bad)
            if left:
                run.emit("step_redo", problem)
            messages = [*messages, *said(reply), HumanMessage(f"That does not fit: {problem}. Answer again.")]
    return failed("redo", "output_rejected", problem)


async def _expectation(run: StepRun, step: LlmStep, instruction: str) -> Expects:
    """What the plan expects of the result; and that what a person is told makes nothing up."""
    expects = await expectation(run.session, run.work)
    if not is_answer(step):
        return expects
    sources = Sources(run.board.plan.goal, instruction, await inputs_of(run.session, step))
    return lambda result: made_up_fault(result, sources) or expects(result)


def _form_of(step: LlmStep, model: BaseChatModel) -> Form | None:
    """The shape that is asked for; None for text, and for a choice where no schema goes along with it."""
    if step.output_schema is not None:
        return Form.of(step.output_schema if _is_object(step) else _wrapped(step.output_schema), NAME)
    if step.choices is not None and speaks_openai(model):
        return Form.of(_wrapped({"enum": list(step.choices)}), NAME)
    return None


def _is_object(step: LlmStep) -> bool:
    """Whether the step's result is an object: so its schema says, or it names neither a type nor values."""
    schema = step.output_schema or {}
    return schema.get("type", "string" if {"enum", "const"} & schema.keys() else "object") == "object"


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    part, shared = as_part(schema, NAME)
    whole = {
        "type": "object",
        "properties": {NAME: part},
        "required": [NAME],
        "additionalProperties": False,
    }
    return {**whole, "$defs": shared} if shared else whole


async def _asked(
    run: StepRun, how: Ask, messages: list[BaseMessage], form: Form | None
) -> AIMessage | CallFailed:
    if form is None:
        return await ask(run.session.engine, how, messages)
    return await ask_in_form(run.session, how, messages, form)


def _read(step: LlmStep, reply: AIMessage, form: Form | None) -> Any:
    """The step's result, out of the shape or, as models without schemas give a choice, bare."""
    if form is None:
        return read_step_output(step, reply)
    try:
        answer: Any = object_of(reply, NAME)
    except BadReply:
        if step.choices is None:
            raise
        return read_step_output(step, reply)
    if step.output_schema is not None and _is_object(step):
        return fitting_answer(step, without_absent(answer, step.output_schema))
    return fitting_answer(step, answer.get(NAME))


def _ask_for(run: StepRun, step: LlmStep) -> Ask:
    def before(tries: int) -> None:
        run.entry = charged(started(run.entry, run.session.engine.now()), run.spent.committed)
        run.emit("step_started" if tries == 0 else "step_attempt")

    return ask_for(run, step, before, role=step.role)
