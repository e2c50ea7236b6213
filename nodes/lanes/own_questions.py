"""A tool's own `interrupt()`: what it asks, as a person is shown it, and whose question it is."""

import json
from typing import Any

from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.types import Interrupt

from graph.plan import JSON, json_fault
from nodes.lanes.run import StepRun
from tools.scrub import scrubbed, trimmed

MAX_QUESTION_CHARS = 4_000
"""What is kept of a question's JSON as data; a longer one is told as the beginning of its text."""


def asked_by(question: GraphBubbleUp, run: StepRun) -> JSON:
    """What the tool asks, without secret arguments: its own data, or its text where that is no JSON."""
    interrupts = question.args[0] if isinstance(question, GraphInterrupt) and question.args else ()
    values = [each.value for each in interrupts]
    asked: Any = values[0] if len(values) == 1 else values
    safe = _scrubbed(asked, run) if json_fault(asked) is None else trimmed(_clean(str(asked), run))
    text = json.dumps(safe, ensure_ascii=False)
    return safe if len(text) <= MAX_QUESTION_CHARS else trimmed(text)


def _scrubbed(value: Any, run: StepRun) -> JSON:
    if isinstance(value, dict):
        return {_clean(key, run): _scrubbed(item, run) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrubbed(item, run) for item in value]
    return _clean(value, run) if isinstance(value, str) else value


def _clean(text: str, run: StepRun) -> str:
    tools = run.session.engine.tools_of(run.step)
    secret = frozenset[str]().union(*(tool.policy.redact for tool in tools))
    return scrubbed(text, getattr(run.step, "args", {}), secret)


def signed(question: GraphBubbleUp, step_id: str) -> GraphBubbleUp:
    """The question with the asking step written on it, so that an answer finds it."""
    if not isinstance(question, GraphInterrupt) or not question.args:
        return question
    return GraphInterrupt(tuple(_named(step_id, asked) for asked in question.args[0]))


def _named(step_id: str, asked: Interrupt) -> Interrupt:
    return Interrupt(value={"kind": "question", "step": step_id, "question": asked.value}, id=asked.id)


async def show_anew(run: StepRun, asked: JSON) -> None:
    """Have the run's entry show what is asked now: a tool that has an answer may ask for more."""
    session = run.session
    if session.run is None:
        session.run = await session.load_run()
    pending = [_with(item, run.step.id, asked) for item in session.run.pending]
    if pending != session.run.pending:
        session.run = session.run.model_copy(update={"pending": pending})
        await session.journal.put_run(session.run)


def _with(item: JSON, step_id: str, asked: JSON) -> JSON:
    if isinstance(item, dict) and item.get("kind") == "question" and item.get("step") == step_id:
        return {**item, "args": {"question": asked}}
    return item
