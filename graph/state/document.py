"""The output document of a run, made from its journal alone: the graph, the CLI and `show` agree.

Pure: the same entries give the same document, in this process or another, while the run goes on
or years later.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from checkpoints import OutputRef, RunEntry, StepEntry
from graph.plan import MapStep, Plan, Step, StepStatus
from graph.state.shown import shown_plan

JsonDict = dict[str, Any]
Ends = Counter[tuple[str, StepStatus]]


def build_document(
    run: RunEntry,
    plan: Plan | None,
    entries: Mapping[str, StepEntry],
    outputs: Mapping[str, Any],
    *,
    written: Mapping[str, Any] | None = None,
) -> JsonDict:
    """The output document.

    Args:
        run: The run's own entry: status, answer, reason, what waits.
        plan: The current revision, or None when the request needed no plan.
        entries: Journal entries by step id; steps without one are pending.
        outputs: Results by step id, where they were loaded; a result kept by reference and not
            loaded shows as `{"$ref": digest, "bytes": n, "preview": text}`.
        written: The plan's JSON where it is at hand; it is made otherwise.

    Returns:
        `status, success, answer, reason, plan, steps, effects, replans, usage, pending`, all JSON; the
        arguments of an effect show in the same way when they are kept by reference. A map
        step also tells its `items`: `{"total", "succeeded", "failed", "not_taken"}`, total null until it is
        known. A step whose result an earlier call gave tells its `age_seconds` and whether it is `stale`, one
        whose tool another one stood in for that `fallback_tool`. A `note` says what else is to be known of
        a step. Secret arguments (`run.hidden`) are in none.
    """
    steps = plan.steps if plan else ()
    ends: Ends = Counter((e.step_id, e.status) for e in entries.values() if e.item is not None)
    return {
        "status": run.status.value,
        "success": run.success,
        "answer": run.answer,
        "reason": run.reason,
        "plan": shown_plan(written or plan.to_json(), run.hidden) if plan else None,
        "steps": [
            _step_row(step, plan, entries.get(step.id), outputs) | _items(step, entries.get(step.id), ends)
            for step in steps
            if plan
        ],
        "effects": effects(entries),
        "replans": run.replans,
        "usage": dict(run.usage),
        "pending": list(run.pending),
    }


def entries_of(steps: Mapping[str, StepEntry], plan: Plan) -> dict[str, StepEntry]:
    """The journal's entries that belong to the current steps of this plan, and those of all that was done.

    What an agent did, or a step that failed after it wrote, stays done when the step is replaced.
    """
    known = {step.id for step in plan.steps}
    return {
        key: e
        for key, e in steps.items()
        if e.plan_id == plan.plan_id and (key in known or e.item is not None or has_written(e))
    }


def has_written(entry: StepEntry) -> bool:
    """Whether a write happened within the step, be it that the step failed over what it gave."""
    return entry.wrote or entry.done_before_fallback is not None


def effects(entries: Mapping[str, StepEntry]) -> list[JsonDict]:
    """Every write that happened or may have happened, oldest first."""
    told = [_effect(e) for e in entries.values() if e.wrote or _in_doubt(e)]
    told += [_effect(e) | before for e in entries.values() if (before := _before_fallback(e))]
    return sorted(told, key=lambda row: (str(row["at"]), str(row["step"]), row.get("item") or 0))


def _effect(entry: StepEntry) -> JsonDict:
    return {
        "step": entry.step_id,
        **({} if entry.item is None else {"item": entry.item}),
        "tool": entry.fallback_tool or entry.tool,
        "args": _inline(entry.input, entry.input_ref),
        "status": (StepStatus.UNKNOWN if _in_doubt(entry) else StepStatus.SUCCEEDED).value,
        "revision": entry.revision,
        "idempotency_key": entry.idempotency_key,
        "at": _time(entry, "ended_at") or _time(entry, "started_at"),
    }


def _before_fallback(entry: StepEntry) -> JsonDict:
    """The write that a step's own work was before its fallback took over; empty when it was none."""
    done = entry.done_before_fallback
    if done is None:
        return {}
    told = {name: done.get(name) for name in ("tool", "args", "idempotency_key", "at")}
    return {**told, "status": StepStatus.SUCCEEDED.value}


def _in_doubt(entry: StepEntry) -> bool:
    return entry.effect == "write" and entry.status is StepStatus.UNKNOWN


def _items(step: Step, entry: StepEntry | None, ends: Ends) -> JsonDict:
    """How far a map has come; nothing for any other step."""
    if not isinstance(step, MapStep):
        return {}
    told = (StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.NOT_TAKEN)
    total = entry.items if entry is not None else None
    return {"items": {"total": total, **{status.value: ends[step.id, status] for status in told}}}


def _step_row(step: Step, plan: Plan, entry: StepEntry | None, outputs: Mapping[str, Any]) -> JsonDict:
    if entry is None:
        empty = dict.fromkeys(("output", "error", "started_at", "ended_at", "idempotency_key"))
        return {
            "id": step.id,
            "action": step.action,
            "status": StepStatus.PENDING.value,
            "attempts": 0,
            "revision": plan.revision,
            **empty,
        }
    return {
        "id": step.id,
        "action": step.action,
        "status": entry.status.value,
        "attempts": entry.attempts,
        "output": outputs[step.id] if step.id in outputs else _inline(entry.output, entry.output_ref),
        "error": entry.error.model_dump(mode="json") if entry.error else None,
        "revision": entry.revision,
        "started_at": _time(entry, "started_at"),
        "ended_at": _time(entry, "ended_at"),
        "idempotency_key": entry.idempotency_key,
        **({"note": entry.note} if entry.note else {}),
        **_borrowed(entry),
    }


def _borrowed(entry: StepEntry) -> JsonDict:
    """Whose result a step has when it is not that of a call of its own tool."""
    age = {} if entry.age is None else {"age_seconds": entry.age, "stale": entry.stale}
    return age | ({} if entry.fallback_tool is None else {"fallback_tool": entry.fallback_tool})


def _inline(value: Any, ref: OutputRef | None) -> Any:
    """A value, or how one is shown that is kept by reference."""
    if ref is None:
        return value
    return {"$ref": ref.digest, "bytes": ref.bytes, "preview": ref.preview}


def _time(entry: StepEntry, name: str) -> str | None:
    value = getattr(entry, name)
    return value.isoformat() if value else None
