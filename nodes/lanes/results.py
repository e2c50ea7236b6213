"""What one step's execution came to, and how it turns into a journal entry."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checkpoints import StepEntry, StepError
from graph.plan import Plan, Step, StepStatus, ToolStep
from tools import CallFailed

ERROR_KIND_OF_STATUS = {"unknown": StepStatus.UNKNOWN}


@dataclass(frozen=True)
class Result:
    """The end of one step's execution. `output` is JSON.

    `nothing_happened` says that a failed write surely changed nothing.
    """

    status: StepStatus
    output: Any = None
    error: StepError | None = None
    note: str = ""
    nothing_happened: bool = False


def failed(kind: str, code: str, message: str) -> Result:
    """A failed (or, for kind unknown, an in-doubt) end."""
    status = ERROR_KIND_OF_STATUS.get(kind, StepStatus.FAILED)
    return Result(status, error=StepError(kind=kind, code=code, message=message))


def failed_call(outcome: CallFailed) -> Result:
    return failed(outcome.kind, outcome.code, outcome.message)


def blank_entry(run_id: str, plan: Plan, step: Step, prior: StepEntry | None) -> StepEntry:
    """The entry of a step before its next try; attempts and model calls go on counting."""
    return StepEntry(
        run_id=run_id,
        plan_id=plan.plan_id,
        revision=plan.revision,
        step_id=step.id,
        action=step.action,
        tool=step.tool if isinstance(step, ToolStep) else None,
        status=StepStatus.PENDING,
        attempts=prior.attempts if prior else 0,
        started_at=prior.started_at if prior else None,
        **(_kept(prior) if prior else {}),
    )


def _kept(prior: StepEntry) -> dict[str, Any]:
    """What is known before the next try: what was paid for, what models chose and judged, what has failed."""
    spent = ("model_calls", "input_tokens", "output_tokens", "cost", "estimated")
    names = (*spent, "filled", "healed", "premise", "items", "taken", "fallback", "fallback_tool")
    return {name: getattr(prior, name) for name in names if name != "fallback_tool" or prior.fallback}


def started(entry: StepEntry, now: datetime) -> StepEntry:
    """The intent of one more try."""
    return entry.model_copy(
        update={
            "status": StepStatus.RUNNING,
            "attempts": entry.attempts + 1,
            "started_at": entry.started_at or now,
        }
    )


def ended(entry: StepEntry, result: Result, now: datetime) -> StepEntry:
    """The entry with its result."""
    return entry.model_copy(
        update={
            "status": result.status,
            "output": result.output,
            "error": result.error,
            "note": "; ".join(note for note in (_marks(entry), _instead(entry, result), result.note) if note),
            "ended_at": now,
        }
    )


def _marks(entry: StepEntry) -> str:
    """What of the step's input a model chose when it ran."""
    filled = [f"filled in {', '.join(entry.filled)}"] if entry.filled else []
    healed = [f"${{{text}}} healed" for text in entry.healed or ()]
    return "; ".join([*filled, *healed])


def _instead(entry: StepEntry, result: Result) -> str:
    """That a step succeeded by what it falls back to."""
    if entry.fallback is None or not result.status.ok:
        return ""
    by = f"by fallback {entry.fallback_tool} " if entry.fallback_tool is not None else ""
    return f"{by}after {entry.own_failure}"
