"""The output document of a run, made from its journal alone: the graph, the CLI and `show` agree.

Pure: the same entries give the same document, in this process or another, while the run goes on
or years later.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from checkpoints import RunEntry, StepEntry
from graph.plan import MapStep, Plan, Step, StepStatus
from graph.state.shown import shown_plan

JsonDict = dict[str, Any]
Ends = Counter[tuple[str, StepStatus]]

EFFECT_STATUSES = frozenset({StepStatus.SUCCEEDED, StepStatus.UNKNOWN})


def build_document(
    run: RunEntry,
    plan: Plan | None,
    entries: Mapping[str, StepEntry],
    outputs: Mapping[str, Any],
) -> JsonDict:
    """The output document.

    Args:
        run: The run's own entry: status, answer, reason, what waits.
        plan: The current revision, or None when the request needed no plan.
        entries: Journal entries by step id; steps without one are pending.
        outputs: Results by step id, where they were loaded; a result kept by reference and not
            loaded shows as `{"$ref": digest, "bytes": n, "preview": text}`.

    Returns:
        `status, success, answer, reason, plan, steps, effects, replans, usage, pending`, all JSON. A map
        step also tells its `items`: `{"total", "succeeded", "failed", "not_taken"}`, total null until it is
        known. A step whose result an earlier call gave tells its `age_seconds` and whether it is `stale`, one
        whose tool another one stood in for that `fallback_tool`. Secret arguments (`run.hidden`) are in none.
    """
    steps = plan.steps if plan else ()
    ends: Ends = Counter((e.step_id, e.status) for e in entries.values() if e.item is not None)
    return {
        "status": run.status.value,
        "success": run.success,
        "answer": run.answer,
        "reason": run.reason,
        "plan": shown_plan(plan.to_json(), run.hidden) if plan else None,
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
    """The journal's entries that belong to the current steps of this plan, and the calls of all agents.

    What an agent did stays done when its step is replaced.
    """
    known = {step.id for step in plan.steps}
    return {
        key: e
        for key, e in steps.items()
        if e.plan_id == plan.plan_id and (key in known or e.item is not None)
    }


def effects(entries: Mapping[str, StepEntry]) -> list[JsonDict]:
    """Every write that happened or may have happened, oldest first."""
    writes = [e for e in entries.values() if e.effect == "write" and e.status in EFFECT_STATUSES]
    return [
        {
            "step": entry.step_id,
            **({} if entry.item is None else {"item": entry.item}),
            "tool": entry.fallback_tool or entry.tool,
            "args": entry.input,
            "status": entry.status.value,
            "revision": entry.revision,
            "idempotency_key": entry.idempotency_key,
            "at": _time(entry, "ended_at") or _time(entry, "started_at"),
        }
        for entry in sorted(writes, key=_when_and_where)
    ]


def _when_and_where(entry: StepEntry) -> tuple[str, str, int]:
    return str(_time(entry, "ended_at")), entry.step_id, entry.item or 0


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
        "output": outputs[step.id] if step.id in outputs else _inline(entry),
        "error": entry.error.model_dump(mode="json") if entry.error else None,
        "revision": entry.revision,
        "started_at": _time(entry, "started_at"),
        "ended_at": _time(entry, "ended_at"),
        "idempotency_key": entry.idempotency_key,
        **_borrowed(entry),
    }


def _borrowed(entry: StepEntry) -> JsonDict:
    """Whose result a step has when it is not that of a call of its own tool."""
    age = {} if entry.age is None else {"age_seconds": entry.age, "stale": entry.stale}
    return age | ({} if entry.fallback_tool is None else {"fallback_tool": entry.fallback_tool})


def _inline(entry: StepEntry) -> Any:
    if entry.output_ref is None:
        return entry.output
    ref = entry.output_ref
    return {"$ref": ref.digest, "bytes": ref.bytes, "preview": ref.preview}


def _time(entry: StepEntry, name: str) -> str | None:
    value = getattr(entry, name)
    return value.isoformat() if value else None
