"""How a run ends: its status, its answer, and an honest reason when it is not done."""

import json
from collections import Counter
from collections.abc import Mapping, Set
from typing import Any

from checkpoints import StepEntry
from graph.plan import (
    MapStep,
    Plan,
    PlanStep,
    RunStatus,
    Step,
    StepStatus,
    undo_part,
    undoing,
    undone_id,
    without_undo,
)
from nodes.decide.map_items import items_told
from nodes.decide.premises import deviation
from nodes.decide.readiness import MISSING, Statuses

ANSWER_CHARS = 20_000
"""Characters an answer has at most, or nearly: it is read by people and stored with every view of the run."""

_STALE_NAMED = 5

_SHARE_CHARS = 200
"""Characters that each of many results gets at least."""


def cancel_rest(plan: Plan, statuses: Statuses, entries: Mapping[str, StepEntry]) -> dict[str, StepStatus]:
    """`statuses` with every step that will not run any more marked cancelled.

    A write that was under way when a process ended, and was not looked at since, is in doubt, one of an
    agent or of a map's item too.
    """
    begun = {e.of_step for e in entries.values() if _may_have_happened(e)}
    closed: dict[str, StepStatus] = {}
    for step in plan.steps:
        status = statuses.get(step.id, StepStatus.PENDING)
        if status in (StepStatus.PENDING, StepStatus.WAITING):
            status = StepStatus.UNKNOWN if step.id in begun else StepStatus.CANCELLED
        closed[step.id] = status
    return closed


def _may_have_happened(entry: StepEntry) -> bool:
    if entry.effect != "write":
        return False
    return entry.status is StepStatus.RUNNING or (
        entry.item is not None and entry.status is StepStatus.UNKNOWN
    )


def final_status(
    plan: Plan,
    statuses: Statuses,
    *,
    stopped_by: str | None = None,
    broken: bool = False,
    partly: Set[str] = frozenset(),
) -> RunStatus:
    """The run's status from its steps' final ones.

    Succeeded means that no step failed, was rejected, cancelled or left in doubt, but for optional
    ones; a skip by the plan's own policy is no fault. `stopped_by` is the decision (`reject` or
    `stop`) with which a person ended the run; `broken` says that the plan was found not to hold;
    `partly` are the steps that did some of their work (`partly_done`).
    """
    if stopped_by is not None:
        return RunStatus.REJECTED if stopped_by == "reject" else RunStatus.STOPPED
    settled = made_good(plan, statuses)
    lost = [s for s in plan.steps if not s.optional and s.id not in settled and is_lost(statuses[s.id])]
    if not lost:
        return RunStatus.PARTIAL if broken else RunStatus.SUCCEEDED
    if any(statuses[step.id].ok or step.id in partly for step in plan.steps):
        return RunStatus.PARTIAL
    rejected = any(statuses[step.id] is StepStatus.REJECTED for step in plan.steps)
    if rejected and all(statuses[s.id] in (StepStatus.REJECTED, StepStatus.CANCELLED) for s in lost):
        return RunStatus.REJECTED
    return RunStatus.FAILED


def made_good(plan: Plan, statuses: Statuses) -> set[str]:
    """Sub-steps whose loss is none: the plan can do without their part, or the part's fallback took over."""
    good: set[str] = set()
    for step in plan.steps:
        if isinstance(step, PlanStep) and (step.optional or (step.fallback and statuses[step.id].ok)):
            good.update(step.sub_steps)
    inner = {s.id: s.sub_steps for s in plan.steps if isinstance(s, PlanStep)}
    todo = list(good)
    while todo:
        deeper = set(inner.get(todo.pop(), ())) - good
        good |= deeper
        todo += deeper
    return good


def partly_done(plan: Plan, entries: Mapping[str, StepEntry]) -> frozenset[str]:
    """The maps of which some items are done, however the map ended."""
    maps = {step.id for step in plan.steps if isinstance(step, MapStep)}
    done = (e.step_id for e in entries.values() if e.item is not None and e.status is StepStatus.SUCCEEDED)
    return frozenset(maps.intersection(done))


def is_lost(status: StepStatus) -> bool:
    """Whether a step that ended so is missing where it was wanted; a skip by the plan's own policy is not."""
    return status in (MISSING - {StepStatus.SKIPPED}) or status is StepStatus.UNKNOWN


def answer_of(plan: Plan, statuses: Statuses, outputs: Mapping[str, Any]) -> str | None:
    """The results that no other result was made from: one as it is, several by title; None without any.

    What is too long is cut, and what is too many is counted; the steps have it all. When a last step
    is lost, what led up to it is the answer that is left.
    """
    depended_on = {dep for step in plan.steps if statuses[step.id].ok for dep in step.depends_on}
    leaves = [s for s in plan.steps if s.id not in depended_on and statuses[s.id].ok]
    if not leaves:
        return None
    texts = [_as_text(outputs.get(step.id)) for step in leaves]
    if len(leaves) == 1:
        return _cut(texts[0], ANSWER_CHARS)
    return _joined([_name(step) for step in leaves], texts)


def with_stale(answer: str | None, plan: Plan, entries: Mapping[str, StepEntry]) -> str | None:
    """The answer with a last line on results that are older than they should be; None without an answer."""
    ages: dict[str, list[float]] = {}
    for entry in entries.values():
        of_items = entry.items is not None and entry.fallback is None
        if entry.stale and entry.status.ok and not of_items:  # a map's mark is that of its items
            ages.setdefault(entry.step_id, []).append(entry.age or 0.0)
    notes = [_stale_note(_name(step), ages[step.id]) for step in plan.steps if step.id in ages]
    if answer is None or not notes:
        return answer
    more = f" and {len(notes) - _STALE_NAMED} more" if len(notes) > _STALE_NAMED else ""
    return f"{answer}\nNot up to date: {'; '.join(notes[:_STALE_NAMED])}{more}."


def _stale_note(name: str, ages: list[float]) -> str:
    if len(ages) == 1:
        return f"{name} is {ages[0]:.0f} s old"
    return f"{name} has {len(ages)} results up to {max(ages):.0f} s old"


def reason_of(
    plan: Plan,
    statuses: Statuses,
    entries: Mapping[str, StepEntry],
    no_replan: str | None,
) -> str | None:
    """Why the run is not wholly done, step by step; None when nothing is missing."""
    told = made_good(plan, statuses) | _told_by_their_part(plan, statuses)
    steps = [step for step in plan.steps if step.id not in told]
    lines = [line for step in steps if (line := _why_of(step, plan, statuses, entries))]
    if lines and no_replan:
        lines.append(no_replan)
    return "; ".join(lines) or None


def _told_by_their_part(plan: Plan, statuses: Statuses) -> set[str]:
    """Sub-steps of parts that failed: the part's own failure names what was lost in it."""
    parts = [step for step in plan.steps if isinstance(step, PlanStep)]
    return {sub for part in parts if statuses[part.id] is StepStatus.FAILED for sub in part.sub_steps}


def _why_of(step: Step, plan: Plan, statuses: Statuses, entries: Mapping[str, StepEntry]) -> str | None:
    entry = entries.get(step.id)
    told = items_told(step, statuses[step.id], entry, entries) if isinstance(step, MapStep) else None
    return told if told and deviation(entry, plan) is None else _why(step, plan, statuses, entry)


def _why(step: Step, plan: Plan, statuses: Statuses, entry: StepEntry | None) -> str | None:
    broken = deviation(entry, plan)
    if broken is not None:
        return f"{step.id}: {broken}"
    status = statuses[step.id]
    note = entry.note if entry else ""
    match status:
        case StepStatus.FAILED:
            error = entry.error if entry else None
            return f"{step.id} failed: {error.code}: {error.message}" if error else f"{step.id} failed"
        case StepStatus.UNKNOWN:
            return f"{step.id}: it is not known whether it happened"
        case StepStatus.REJECTED:
            return _over_own_failure(entry) or f"{step.id} was rejected" + (f": {note}" if note else "")
        case StepStatus.SKIPPED | StepStatus.CANCELLED:
            missing = [dep for dep in step.depends_on if _gave_nothing(statuses[dep])]
            because = f" because {', '.join(missing)} gave no result" if missing else ""
            return _over_own_failure(entry) or f"{step.id} did not run{because}"
        case _:
            return None


def _over_own_failure(entry: StepEntry | None) -> str | None:
    """How a step ended whose own work had failed, and whose fallback was not called then."""
    if entry is None or entry.fallback is None:
        return None
    what = "was rejected" if entry.status is StepStatus.REJECTED else "did not run"
    other = f"its fallback {entry.fallback.get('tool')} {what}" + (f": {entry.note}" if entry.note else "")
    return f"{entry.step_id} failed: {entry.own_failure}; {other}"


def _gave_nothing(status: StepStatus) -> bool:
    return not status.ok and status is not StepStatus.NOT_TAKEN


def undone_of(
    plan: Plan, statuses: Statuses, entries: Mapping[str, StepEntry], *, wanted: bool
) -> tuple[str | None, str | None]:
    """What was undone when the run was given up, and what could not be and why; each None without any.

    `wanted` says that what was done is to be undone.
    """
    undo = undo_part(plan)
    steps = undo.steps if undo else ()
    undone = [undone_id(step.id) for step in steps if statuses[step.id].ok]
    lost = [
        f"{undone_id(s.id)} could not be undone: {_end_of(s, statuses, entries)}"
        for s in steps
        if not statuses[s.id].ok
    ]
    if wanted:
        lost += [line for step in without_undo(plan).steps if (line := _left_by_fallback(step, entries))]
    return ", ".join(undone) or None, "; ".join(lost) or None


def _left_by_fallback(step: Step, entries: Mapping[str, StepEntry]) -> str | None:
    """That what a step's fallback wrote stays: the step's compensation undoes the step's own work."""
    entry = entries.get(step.id)
    if undoing(step) is None or entry is None or entry.fallback_tool is None or not entry.wrote:
        return None
    return f"{step.id} was done by its fallback {entry.fallback_tool}, which nothing undoes"


def _end_of(step: Step, statuses: Statuses, entries: Mapping[str, StepEntry]) -> str:
    entry = entries.get(step.id)
    return f"{entry.error.code}: {entry.error.message}" if entry and entry.error else statuses[step.id].value


def honest_answer(
    reason: str | None, done: str | None, effects: list[dict[str, Any]], undone: str | None = None
) -> str:
    """The answer of a run that is not wholly done: why, what is done, what happened and was undone."""
    parts = [f"Not done, because {reason}." if reason else "Not done."]
    if done:
        parts.append(f"Done: {done}")
    if effects:
        counts = Counter((e["step"], e["tool"], e["status"]) for e in effects)
        named = [
            f"{step} ({tool}, {f'{n} times ' if n > 1 else ''}{status})"
            for (step, tool, status), n in counts.items()
        ]
        parts.append(f"Effects: {', '.join(named)}.")
    if undone:
        parts.append(f"Undone: {undone}.")
    return "\n".join(parts)


def _name(step: Step) -> str:
    return step.title or step.id


def _joined(names: list[str], texts: list[str]) -> str:
    """One line or more for each result; all in full where they fit, else each with an equal share."""
    fit = sum(map(len, texts)) <= ANSWER_CHARS
    shown = len(texts) if fit else ANSWER_CHARS // _SHARE_CHARS
    share = ANSWER_CHARS if fit else ANSWER_CHARS // min(shown, len(texts))
    lines = [f"{name}: {_cut(text, share)}" for name, text in zip(names[:shown], texts, strict=False)]
    if shown < len(texts):
        lines.append(f"... and {len(texts) - shown} more results")
    return "\n".join(lines)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}... (truncated {chars} of {len(text)})"
