"""What a step would run with: its references resolved against the results it depends on."""

from dataclasses import replace
from typing import Any

from graph.plan import (
    AgentStep,
    PlanStep,
    Scope,
    Step,
    StepStatus,
    ToolStep,
    call_digest,
    referring_value,
    resolve,
    resolve_words,
)
from graph.state import Decision
from nodes.decide.approvals import allows
from nodes.decide.candidates import as_texts
from nodes.decide.healing import healed_values
from nodes.lanes.work import Work
from nodes.prompts import data_block, stale_block
from nodes.session import RunSession


async def resolved_args(session: RunSession, work: Work) -> dict[str, Any]:
    """A tool's arguments with what was filled in and edited, or an instruction with the tools it may use.

    Raises:
        ReferenceFailure: A result lacks what the step refers to.
    """
    scope = await healed_scope(session, work)
    step = work.step
    if isinstance(step, PlanStep):
        goal = resolve_words(step.goal, scope, session.settings.digest_chars)
        return {"goal": goal, "tools": list(step.tools)}
    if not isinstance(step, ToolStep):
        words = resolve_words(str(referring_value(step)), scope, session.settings.digest_chars)
        return {"instruction": words, **({"tools": list(step.tools)} if isinstance(step, AgentStep) else {})}
    tool = session.engine.tool_of(step)
    # Decoded before text is put in: a result inside JSON text must not change its structure.
    given = tool.decode_args(step.args) if tool else step.args
    args = {name: resolve(value, scope) for name, value in given.items()}
    args = as_texts(tool, step, args) if tool else args
    chosen = work.entry.filled if work.entry is not None and work.entry.filled else {}
    filled = {name: value for name, value in chosen.items() if name in step.open_args}
    return {**args, **filled, **_edits(session, work.decision)}


async def call_digests(session: RunSession, work: Work) -> set[str]:
    """By what a later plan's call is recognised as this one: as the plan wrote it, and as it ran.

    The work is a tool step's.

    Raises:
        ReferenceFailure: A result lacks what the step refers to.
    """
    step = work.step
    assert isinstance(step, ToolStep)
    scope = await healed_scope(session, work)
    written = {name: resolve(value, scope) for name, value in step.args.items()}
    ran = await resolved_args(session, work)
    return {call_digest(step.tool, written), call_digest(step.tool, ran)}


async def healed_scope(session: RunSession, work: Work) -> Scope:
    """What the step may read, with the references healed that were asked about."""
    scope = await scope_of(session, work)
    return scope if work.entry is None else replace(scope, healed=healed_values(work.entry.healed, scope))


async def scope_of(session: RunSession, work: Work) -> Scope:
    """The results the step may read; what a missing dependency would have given is null."""
    board = session.require_board()
    results = {dep: await session.output_of(dep) for dep in work.step.depends_on}
    absent = frozenset(dep for dep in results if not board.has_result(dep))
    return Scope(results, board.plan.params, absent, local_values=work.local_values)


async def inputs_of(session: RunSession, step: Step) -> dict[str, Any]:
    """What a model is shown of a step's dependencies: of those that were not taken, nothing."""
    statuses = session.require_board().statuses
    return {
        dep: await session.output_of(dep)
        for dep in step.depends_on
        if statuses.get(dep) is not StepStatus.NOT_TAKEN
    }


async def input_blocks(session: RunSession, step: Step) -> list[str]:
    """What a model is shown of a step's dependencies: digests as data, with the age of what is stale."""
    entries, limit = session.require_board().entries, session.settings.digest_chars
    return [
        stale_block(dep, given, limit, entry.age or 0.0)
        if (entry := entries.get(dep)) is not None and entry.stale
        else data_block(dep, given, limit)
        for dep, given in (await inputs_of(session, step)).items()
    ]


def _edits(session: RunSession, decision: Decision | None) -> dict[str, Any]:
    if decision is None or not decision["args"] or not allows(decision, session.require_board().plan):
        return {}
    return decision["args"]
