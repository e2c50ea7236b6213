"""What a map would do: its list, each item as a piece of work, and the one question about all its calls."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from checkpoints import StepEntry
from graph.plan import (
    JSON,
    ItemStep,
    MapStep,
    ReferenceFailure,
    canonical_json,
    condition,
    fallback_step,
    made_by_model,
    resolve,
)
from graph.state import Request
from nodes.decide.approvals import agent_reason, effective_risk, make_request, standing_reason
from nodes.decide.map_items import item_step, list_fault
from nodes.decide.premises import doubt
from nodes.lanes.arguments import healed_scope, resolved_args, scope_of
from nodes.lanes.grounds import question_of
from nodes.lanes.map_done import DoneBefore
from nodes.lanes.results import Result, blank_entry, failed
from nodes.lanes.work import Work
from nodes.session import RunSession

_AT_A_TIME = 200


@dataclass(frozen=True)
class Whole:
    """All calls of a map as one question: why it is asked, what it is bound to, what is shown."""

    reason: str
    args: dict[str, Any]
    shown: dict[str, Any]


def inner_of(work: Work) -> ItemStep:
    """The step that each item of the map runs.

    A reference that was healed may lead to any result of the map's.
    """
    assert isinstance(work.step, MapStep)
    inner = item_step(work.step)
    if work.entry is None or not work.entry.healed:
        return inner
    return inner.model_copy(update={"depends_on": work.step.depends_on})


async def listed(session: RunSession, work: Work) -> list[JSON] | Result:
    """The map's items, or its end when it has no list to go over."""
    assert isinstance(work.step, MapStep)
    try:
        value = resolve(work.step.over, await healed_scope(session, work))
    except ReferenceFailure as error:
        return failed("hard", error.code, str(error))
    fault = list_fault(value, session.settings.max_map_items)
    if fault is not None:
        return failed("hard", *fault)
    assert isinstance(value, list)
    return value


def item_work(session: RunSession, of_map: Work, inner: ItemStep, items: Sequence[JSON], at: int) -> Work:
    """One item as it would run: its own entry, with the references that were healed for the map."""
    board = session.require_board()
    prior = board.entries.get(f"{inner.id}#{at}")
    entry = item_entry(session, of_map.entry, inner, at, prior)
    return Work(inner, entry, of_map.decision, {"item": items[at], "index": at})


def item_entry(
    session: RunSession, of_map: StepEntry | None, inner: ItemStep, at: int, prior: StepEntry | None
) -> StepEntry:
    """An item's entry before its next try."""
    healed = of_map.healed if of_map is not None else None
    entry = blank_entry(session.run_id, session.require_board().plan, inner, prior)
    return entry.model_copy(update={"item": at, "healed": healed})


async def question_about(session: RunSession, work: Work, items: Sequence[JSON]) -> Whole | None:
    """Why a person must approve the map before any item runs, with all its calls; None when nobody need.

    Ask `may_ask` first: this resolves the arguments of every item. Items that will not run, or would be
    refused anyway, are not asked about.
    """
    assert isinstance(work.step, MapStep)
    inner = inner_of(work)
    reason = doubt(work.entry, session.require_board().plan)
    digest, all_shown = sha256(), list[JSON]()
    async for at, call, args, shown in _calls(session, work, inner, items):
        digest.update(canonical_json([at, call.step.action, getattr(call.step, "tool", None), args]).encode())
        reason = reason or await question_of(session, call, args)
        all_shown.append({"index": at, **shown})
    if reason is None or not all_shown:
        return None
    counted = {"calls": len(all_shown)}
    return Whole(reason, {**counted, "digest": digest.hexdigest()}, {**counted, "all": all_shown})


async def map_request(session: RunSession, work: Work) -> Request | None:
    """The question about a map as it is put to a person; None when nobody need be asked."""
    assert isinstance(work.step, MapStep)
    items = await listed(session, work) if may_ask(session, work) else []
    whole = None if isinstance(items, Result) else await question_about(session, work, items)
    if whole is None:
        return None
    inner = inner_of(work)
    return make_request(
        session.require_board().plan,
        work.step,
        kind="approval",
        run_id=session.run_id,
        risk=effective_risk(inner, *session.engine.tools_of(work.step)),
        args=whole.args,
        shown=whole.shown,
        reason=whole.reason,
    )


def may_ask(session: RunSession, work: Work) -> bool:
    """Whether any arguments could make a person look at the map; else nothing need be resolved ahead."""
    assert isinstance(work.step, MapStep)
    if session.settings.approve_at == "never":
        return False
    inner = inner_of(work)
    engine, plan = session.engine, session.require_board().plan
    tools = engine.tools_of(work.step)
    if doubt(work.entry, plan) or agent_reason(inner, tools, session.settings):
        return True
    ruled = any(tool.policy.approve_when for tool in tools)
    grounded = made_by_model(plan, work.step.id) and any(tool.grounded for tool in tools)
    standing = any(standing_reason(inner, tool, session.settings) for tool in (None, *tools))
    return ruled or grounded or standing


async def _calls(
    session: RunSession, work: Work, inner: ItemStep, items: Sequence[JSON]
) -> AsyncIterator[tuple[int, Work, dict[str, Any], dict[str, Any]]]:
    """Each call that the items may come to, those of their fallbacks too."""
    done = DoneBefore(session.require_board())
    for at in range(len(items)):
        if at % _AT_A_TIME == 0:
            await asyncio.sleep(0)  # a long list must not keep the other lanes waiting
        item = item_work(session, work, inner, items, at)
        if not await is_taken(session, item):
            continue
        for call in _ways(item):
            args = await runnable(session, call)
            if args is None:
                continue
            tool = session.engine.tool_of(call.step)
            if tool is not None and done.take(tool, args) is not None:
                break
            yield at, call, args, _shown(session, call, args)


async def is_taken(session: RunSession, item: Work) -> bool:
    """Whether the item's condition holds."""
    if item.step.when is None:
        return True
    try:
        return condition(item.step.when, await scope_of(session, item))
    except ReferenceFailure:
        return False  # the item itself will fail over it


def _ways(item: Work) -> list[Work]:
    """The item's own call, and what it falls back to; whether that is needed nobody knows ahead."""
    other = fallback_step(item.step)
    if other is None:
        return [item]
    entry = item.entry.model_copy(update={"filled": None}) if item.entry is not None else None
    return [item, replace(item, step=other, entry=entry)]


async def runnable(session: RunSession, call: Work) -> dict[str, Any] | None:
    """The call's arguments; None when it would fail without having been made."""
    tool = session.engine.tool_of(call.step)
    try:
        args = await resolved_args(session, call)
    except ReferenceFailure:
        return None
    return None if tool is not None and (tool.args_problems(args) or tool.denied(args)) else args


def _shown(session: RunSession, call: Work, args: dict[str, Any]) -> dict[str, Any]:
    tool = session.engine.tool_of(call.step)
    return {"tool": tool.name, "args": tool.redacted(args)} if tool is not None else args
