"""A step as it would run now: what its expressions, its approval and its grounding are judged by."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkpoints import StepEntry
from graph.plan import JSON, Step, fallback_step
from graph.state import Decision
from nodes.session import RunSession


@dataclass(frozen=True)
class Work:
    """One step with what is known of it.

    `entry` has what a model chose for it, `decision` what a person said of it, and `local_values` those of
    `item` and `index` inside a map.
    """

    step: Step
    entry: StepEntry | None = None
    decision: Decision | None = None
    local_values: Mapping[str, JSON] = field(default_factory=dict)


def work_of(session: RunSession, step: Step) -> Work:
    """A step of the plan as the board knows it: its fallback, once its own work has failed for good."""
    entry, decision = session.require_board().entries.get(step.id), session.decisions.get(step.id)
    other = fallback_step(step) if entry is not None and entry.fallback is not None else None
    if entry is None or entry.fallback is None or other is None:
        return Work(step, entry, decision)
    return Work(other, entry, decision_on_fallback(entry.fallback, decision))


def decision_on_fallback(fallback: Mapping[str, JSON], decision: Decision | None) -> Decision | None:
    """What a person said of a step's fallback: not what was said of its own work."""
    own = decision is not None and decision["approval_id"] == fallback.get("decided")
    return None if own else decision
