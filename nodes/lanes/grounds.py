"""Ids, addresses and amounts that reach a tool through expressions: looked at once their values are known."""

from collections.abc import Mapping
from typing import Any

from graph.plan import JSON, ToolStep, has_reference, made_by_model, whole_reference
from graph.state import Decision
from nodes.decide.approvals import agent_reason, allows, why_approval
from nodes.decide.premises import doubt
from nodes.lanes.facts import sources_for
from nodes.lanes.work import Work
from nodes.session import RunSession


async def question_of(session: RunSession, work: Work, args: Mapping[str, Any]) -> str | None:
    """Why a person must approve the step with these arguments: policy, no check, a value without a source."""
    engine, step = session.engine, work.step
    why = why_approval(step, engine.tool_of(step), args, session.settings)
    why = why or agent_reason(step, engine.tools_of(step), session.settings)
    if why is not None or session.settings.approve_at == "never":
        return why
    plan = session.require_board().plan
    return doubt(work.entry, plan) or await ungrounded_reason(session, work, args)


async def ungrounded_reason(session: RunSession, work: Work, args: Mapping[str, Any]) -> str | None:
    """Why a person must look at the arguments of a model's step, or None.

    A literal was judged with the plan, a filled argument when it was filled in, and a plain reference to
    a tool's result has its source. What is left is text around references, computed values, and what a
    model answered in between.
    """
    if not isinstance(work.step, ToolStep) or not made_by_model(session.require_board().plan, work.step.id):
        return None
    names = _doubtful(session, work, work.step) - _edited(session, work.decision)
    if not names:
        return None
    sources = await sources_for(session, work.step)
    for name in sorted(names):
        for made_up in sources.lacks(args[name]):
            return f"{name} is {str(made_up)[:80]!r}, which occurs in no input and no result of a tool"
    return None


def _doubtful(session: RunSession, work: Work, step: ToolStep) -> set[str]:
    tool = session.engine.tool_of(step)
    names = tool.grounded & step.args.keys() if tool else frozenset[str]()
    return {
        name
        for name in names
        if has_reference(step.args[name]) and not _is_fact(session, work, step.args[name])
    }


def _is_fact(session: RunSession, work: Work, value: JSON) -> bool:
    """Whether an argument is one plain reference to a tool's own result."""
    expression = whole_reference(value)
    if expression is None or expression.path is None:
        return False
    if work.entry is not None and expression.text in (work.entry.healed or {}):
        return False
    board = session.require_board()
    named = [board.step(each) for each in expression.step_ids if board.has_result(each)]
    return bool(named) and all(isinstance(each, ToolStep) for each in named)


def _edited(session: RunSession, decision: Decision | None) -> set[str]:
    if decision is None or not decision["args"] or not allows(decision, session.require_board().plan):
        return set()
    return set(decision["args"])
