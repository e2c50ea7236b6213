"""Premise checks: which steps are due for one, and what a verdict means for the plan."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from checkpoints import StepEntry
from graph.plan import Plan, Step, StepStatus
from nodes.decide.readiness import Statuses, ready_steps
from tools import RegisteredTool

BEFORE, AFTER = "before", "after"

Entries = Mapping[str, StepEntry]

VERDICT = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "description": "What the results say about it, in one sentence."},
        "valid": {"type": "boolean", "description": "Whether the plan still holds."},
        "broken_assumption": {
            "type": ["string", "null"],
            "description": "The assumption that a result contradicts; null when the plan holds.",
        },
    },
    "required": ["reason", "valid", "broken_assumption"],
    "additionalProperties": False,
}
"""The reason comes first: small models judge better once they have given one."""


class Checks(StrEnum):
    """After which steps the plan's premises are checked; before writes unless off."""

    OFF = "off"
    KEY = "key"
    EVERY = "every"


def due_before(
    step: Step,
    tool: RegisteredTool | None,
    plan: Plan,
    *,
    statuses: Statuses,
    entries: Entries,
    checks: Checks,
) -> bool:
    """Whether a pending write must be looked at before it runs: what is known could speak against it.

    A write that a killed process had begun was looked at then.
    """
    if checks is Checks.OFF or tool is None or tool.effect != "write":
        return False
    entry = entries.get(step.id)
    if entry is not None and (entry.status is StepStatus.RUNNING or _seen(entry, BEFORE, plan)):
        return False
    return any(statuses.get(dep, StepStatus.PENDING).ok for dep in step.depends_on)


def due_after(step: Step, tool: RegisteredTool | None, entry: StepEntry | None, checks: Checks) -> bool:
    """Whether a finished step's result must be looked at before anything is built on it."""
    if checks is Checks.OFF or entry is None or not entry.status.ok:
        return False
    wanted = checks is Checks.EVERY or step.verify or (tool is not None and tool.policy.money)
    return wanted and _verdict(entry).get("when") != AFTER


def verdict_of(when: str, plan: Plan, answer: Mapping[str, Any]) -> dict[str, Any]:
    """A model's answer as it is kept in the step's entry."""
    broken = None if answer["valid"] else answer["broken_assumption"] or answer["reason"]
    return {
        "when": when,
        "revision": plan.revision,
        "holds": bool(answer["valid"]),
        "broken": broken,
        "reason": answer["reason"],
    }


def unchecked(when: str, plan: Plan, why: str) -> dict[str, Any]:
    """What is kept when the model gave no verdict."""
    return {"when": when, "revision": plan.revision, "holds": None, "broken": None, "reason": why}


def deviation(entry: StepEntry | None, plan: Plan) -> str | None:
    """Why the plan does not hold, as far as this step is concerned, in this revision."""
    if entry is None:
        return None
    verdict = _verdict(entry)
    if verdict.get("holds") is not False or verdict.get("revision") != plan.revision:
        return None
    broken, reason = verdict["broken"], verdict["reason"]
    return f"the plan no longer holds: {broken}" + (f" ({reason})" if reason and reason != broken else "")


def doubt(entry: StepEntry | None, plan: Plan) -> str | None:
    """Why a person should look at a write that no model could check, or None."""
    verdict = _verdict(entry) if entry else {}
    if verdict.get("when") != BEFORE or verdict.get("revision") != plan.revision:
        return None
    return (
        f"whether the plan still holds could not be checked: {verdict['reason']}"
        if verdict["holds"] is None
        else None
    )


def deviations(plan: Plan, entries: Entries) -> dict[str, str]:
    """By step id, in plan order, why the plan does not hold."""
    judged = [entry for entry in entries.values() if entry.premise is not None]
    found = {entry.step_id: why for entry in judged if (why := deviation(entry, plan)) is not None}
    return {step.id: found[step.id] for step in plan.steps if step.id in found} if found else {}


def held_steps(plan: Plan, statuses: Statuses, broken: Mapping[str, str]) -> frozenset[str]:
    """Ready steps that must not run under a plan that does not hold: the judged, and what builds on it."""
    if not broken:
        return frozenset()
    ready = [plan.step(step_id) for step_id in ready_steps(plan, statuses)]
    return frozenset(s.id for s in ready if s.id in broken or any(dep in broken for dep in s.depends_on))


def _seen(entry: StepEntry, when: str, plan: Plan) -> bool:
    verdict = _verdict(entry)
    return verdict.get("when") == when and verdict.get("revision") == plan.revision


def _verdict(entry: StepEntry) -> Mapping[str, Any]:
    return entry.premise if isinstance(entry.premise, dict) else {}
