"""A run as its journal tells it, readable while another process works on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoints import Journal, OpenedStore, RunBusyError, RunEntry, RunLog, StepEntry, find_run
from graph.cli.errors import NoSuchRun
from graph.plan import Plan, RunStatus, StepStatus
from graph.state import build_document, entries_of

STATE_COLUMNS = (
    "task_id", "step_id", "status", "attempts", "input_snapshot", "output_snapshot", "error_message",
    "created_at", "updated_at",
)  # fmt: skip


@dataclass(frozen=True)
class RunView:
    """One run, read once. `interrupted`: it says running, and no process holds it."""

    entry: RunEntry
    plan: Plan | None
    log: RunLog
    document: dict[str, Any]
    interrupted: bool


async def require_run(opened: OpenedStore, run_id: str) -> RunEntry:
    """The run's entry; raises NoSuchRun."""
    entry = await find_run(opened.store, run_id)
    if entry is None:
        raise NoSuchRun(
            f"no run {run_id!r} in {opened.path}: `planrail runs` lists them, --db names another file"
        )
    return entry


async def read_run(opened: OpenedStore, run_id: str, *, whole_outputs: bool) -> RunView:
    """Everything that is written down about a run.

    Args:
        opened: The database.
        run_id: The run.
        whole_outputs: Load results that are kept by reference; else they show as reference and preview.

    Raises:
        NoSuchRun: The database does not know it.
    """
    await require_run(opened, run_id)
    journal = Journal(opened.store, run_id)
    log = await journal.load()
    assert log.run is not None
    plan = _current_plan(log)
    entries = entries_of(log.steps, plan) if plan else {}
    outputs = await _large_outputs(journal, entries) if whole_outputs else {}
    run = await _with_whole_questions(journal, log.run, log) if whole_outputs else log.run
    document = build_document(run, plan, entries, outputs)
    return RunView(log.run, plan, log, document, _is_interrupted(opened, log.run))


def state_rows(view: RunView) -> list[dict[str, Any]]:
    """The state table: one row for each step of the current plan, in its order, with its calls and items.

    Those of an agent or a map come behind it, as far as they have begun.
    """
    within: dict[str, list[StepEntry]] = {}
    for entry in view.log.steps.values():
        if entry.item is not None and (entry.status.settled or entry.attempts or entry.tool):
            within.setdefault(entry.of_step, []).append(entry)
    ids = [step.id for step in view.plan.steps] if view.plan else []
    keys = [key for each in ids for key in (each, *_in_order(within.get(each, ())))]
    return [_state_row(view.entry.run_id, key, view.log.steps.get(key)) for key in keys]


def _in_order(entries: Iterable[StepEntry]) -> list[str]:
    """The keys of a step's calls or items by their numbers, the calls of a map's agent behind its item."""
    numbers = {entry.key: [int(part) for part in entry.key.split("#") if part.isdigit()] for entry in entries}
    return sorted(numbers, key=lambda key: numbers[key])


def _state_row(run_id: str, step_id: str, entry: StepEntry | None) -> dict[str, Any]:
    if entry is None:
        values: tuple[Any, ...] = (run_id, step_id, "pending", 0, None, None, None, None, None)
        return dict(zip(STATE_COLUMNS, values, strict=True))
    created, updated = entry.started_at, entry.ended_at or entry.started_at
    values = (
        run_id,
        step_id,
        entry.status.value,
        entry.attempts,
        entry.input if entry.input_ref is None else entry.input_ref.preview,
        entry.output if entry.output_ref is None else entry.output_ref.preview,
        _why(entry),
        created.isoformat() if created else None,
        updated.isoformat() if updated else None,
    )
    return dict(zip(STATE_COLUMNS, values, strict=True))


def _why(entry: StepEntry) -> str | None:
    """Why a step gave no result: its error, or the condition that did not hold."""
    if entry.error is not None:
        return entry.error.message
    return entry.note if entry.status is StepStatus.NOT_TAKEN else None


def _current_plan(log: RunLog) -> Plan | None:
    if not log.plans:
        return None
    revision = log.run.revision if log.run else None
    return Plan.from_json(log.plans[revision if revision in log.plans else max(log.plans)])


async def _large_outputs(journal: Journal, entries: dict[str, StepEntry]) -> dict[str, Any]:
    large = {key: e for key, e in entries.items() if e.output_ref is not None and e.item is None}
    return {key: await journal.output(entry) for key, entry in large.items()}


async def _with_whole_questions(journal: Journal, run: RunEntry, log: RunLog) -> RunEntry:
    """The run's entry with all calls of a map in the question about them, those kept by reference too."""
    questions: Sequence[Any] = run.pending
    pending = [
        {
            **asked,
            "args": {"calls": asked["args"]["calls"], "all": await journal.input(log.steps[asked["step"]])},
        }
        if _is_kept(asked, log)
        else asked
        for asked in questions
    ]
    return run.model_copy(update={"pending": pending})


def _is_kept(asked: dict[str, Any], log: RunLog) -> bool:
    """Whether the calls of a question are the input of its step's entry."""
    reference, entry = asked["args"].get("all"), log.steps.get(asked["step"])
    kept = entry.input_ref if entry is not None and asked["tool"] is None else None
    return kept is not None and isinstance(reference, dict) and reference.get("$ref") == kept.digest


def _is_interrupted(opened: OpenedStore, entry: RunEntry) -> bool:
    if entry.status is not RunStatus.RUNNING:
        return False
    try:
        with opened.run_lock(entry.run_id):
            return True
    except RunBusyError:
        return False
