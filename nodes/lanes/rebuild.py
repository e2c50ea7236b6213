"""The board from the state and the journal, once per superstep."""

from collections.abc import Mapping
from typing import Any, cast

from langgraph.config import get_config
from langgraph.pregel._read import ChannelRead

from checkpoints import StepEntry, StoreUnavailableError
from graph.plan import MapStep, Plan, PlanStep, Step, StepStatus, ToolStep, undo_part
from graph.state import Decision, entries_of
from nodes.decide.approvals import agent_reason, allows, standing_reason
from nodes.decide.conditions import waits_for_condition
from nodes.lanes.board import Board
from nodes.lanes.work import Work, work_of
from nodes.premises import waits_for_check
from nodes.session import RunSession


def read_state(*channels: str) -> dict[str, Any]:
    """Channels of the superstep's state. A node that a Send started is not given the state."""
    return dict(ChannelRead.do_read(get_config(), select=list(channels)))


async def ensure_board(session: RunSession) -> Board:
    """The superstep's board; built here when a resume starts directly in the executors."""
    async with session.building:
        if session.board is None:
            state = read_state("plan", "decisions")
            await rebuild(session, session.plan_of(state["plan"]), state.get("decisions") or {})
    return session.require_board()


async def rebuild(session: RunSession, plan: Plan, decisions: Mapping[str, Decision]) -> Board:
    """A new board. In one process the entries are at hand; after a resume the journal has them."""
    if session.board is None:
        log = await session.load()
        entries, outputs = entries_of(log.steps, plan), {}
        _require_journal(session.run_id, plan, entries)
    else:
        entries, outputs = entries_of(session.board.entries, plan), session.board.outputs
    session.decisions = {**decisions, **_last_words(entries)}
    board = Board(
        plan,
        entries,
        gate=lambda step: is_gated(session, step),
        before=session.board,
        durations=await session.expected_seconds(plan),
    )
    board.outputs = outputs
    ledger = session.require_ledger()
    if undo_part(plan) is not None:
        ledger.lift()
    board.draining = lambda: session.control.drain_requested or ledger.refused is not None
    session.board = board
    return board


def _last_words(entries: Mapping[str, StepEntry]) -> dict[str, Decision]:
    """What a person said that ended a step, or the run.

    The journal has it before the state does, and a process may end in between.
    """
    found: dict[str, Decision] = {}
    for entry in entries.values():
        told: Any = entry.approval
        is_last = isinstance(told, dict) and told.get("decision") in ("reject", "stop")
        if is_last and entry.status in (StepStatus.REJECTED, StepStatus.UNKNOWN):
            found[entry.step_id] = cast(Decision, told)
    return found


def _require_journal(run_id: str, plan: Plan, entries: Mapping[str, StepEntry]) -> None:
    """Refuse to go on with a store that is not the run's: what has ended would silently run again."""
    records: Mapping[str, Any] = read_state("records").get("records") or {}
    lost = [s.id for s in plan.steps if _has_ended(records.get(s.id)) and s.id not in entries]
    if lost:
        raise StoreUnavailableError(
            f"the store holds no journal of run {run_id!r}, of which {', '.join(lost[:5])} ended: resume "
            "with the store it began with, build_graph(store=...) or compile(store=...) of the parent graph"
        )


def _has_ended(record: Mapping[str, Any] | None) -> bool:
    return record is not None and record["attempts"] > 0 and StepStatus(record["status"]).settled


def is_gated(session: RunSession, step: Step) -> bool:
    """Whether a ready step must not start in a lane: a check, a person, or its own question comes first."""
    work = work_of(session, step)
    if asks_itself(work.entry) or is_planned(step, work.entry):
        return True
    if waits_for_condition(step, work.entry):
        return False  # nobody is asked about a step that may not be taken
    return waits_for_check(session, step) or _waits_for_person(session, work)


def _waits_for_person(session: RunSession, work: Work) -> bool:
    step, entry, decision = work.step, work.entry, work.decision
    if isinstance(step, ToolStep) and step.open_args and (entry is None or entry.filled is None):
        return False  # a person is shown the arguments, so they are filled in first
    waits = entry is not None and entry.status is StepStatus.WAITING
    if isinstance(step, MapStep) and not waits:
        return False  # nor is its list known before
    if decision is not None and allows(decision, session.require_board().plan):
        return False
    if waits or standing_reason(step, session.engine.tool_of(step), session.settings) is not None:
        return True
    return agent_reason(step, session.engine.tools_of(step), session.settings) is not None


def is_planned(step: Step, entry: StepEntry | None) -> bool:
    """Whether a `plan` step has been planned, and its plan is not in its place yet."""
    return (
        isinstance(step, PlanStep) and not step.sub_steps and entry is not None and entry.planned is not None
    )


def asks_itself(entry: StepEntry | None) -> bool:
    """Whether the step's tool called `interrupt()`: it then runs in a graph task of its own."""
    if entry is None or entry.status is not StepStatus.WAITING:
        return False
    return isinstance(entry.approval, dict) and entry.approval.get("kind") == "question"
