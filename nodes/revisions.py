"""Making a revision of the plan the current one: in the journal, in the state, and for whoever looks."""

from typing import Any

from checkpoints import StepEntry
from graph.plan import Plan, StepStatus
from graph.state import Dispatch, GraphState
from nodes.decide.readiness import Move
from nodes.progress import RUNNING, put_run
from nodes.session import RunSession


async def replace_steps(session: RunSession, plan: Plan) -> None:
    """Write a revision down, and set the entries of replaced steps aside under their old revision."""
    board = session.require_board()
    kept = {s.id for s in plan.steps if board.statuses.get(s.id, StepStatus.PENDING).ok}
    replaced = {s.id for s in board.plan.steps} - kept
    aside = [e for e in board.entries.values() if e.of_step in replaced and e.revision < plan.revision]
    await session.journal.put_plan(plan.revision, plan.to_json())
    await session.journal.commit(
        *(e.model_copy(update={"step_id": _old_id(e)}) for e in aside),
        *(_reset(e, plan.revision) for e in aside),
    )


def _old_id(entry: StepEntry) -> str:
    return f"{entry.of_step}@r{entry.revision}{entry.step_id.removeprefix(entry.of_step)}"


def _reset(entry: StepEntry, revision: int) -> StepEntry:
    return StepEntry(
        run_id=entry.run_id,
        plan_id=entry.plan_id,
        revision=revision,
        step_id=entry.step_id,
        item=entry.item,
        action=entry.action,
        status=StepStatus.PENDING,
        attempts=0,
    )


async def adopt(session: RunSession, state: GraphState, plan: Plan, **more: Any) -> dict[str, Any]:
    """The state's update with a revision that is written down; the run goes on with it."""
    session.forget_board()
    update: dict[str, Any] = {
        "plan": plan.to_json(),
        "dispatch": Dispatch(move=Move.EXECUTE.value, steps=[], alone=[]),
        **more,
    }
    await put_run(session, GraphState(**{**state, **update}), plan, **RUNNING)  # type: ignore[typeddict-item]
    session.emit({"type": "plan_revised", "step": None, "message": f"revision {plan.revision}"})
    return update
