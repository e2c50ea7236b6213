"""A step as it would run now: what its expressions, its approval and its grounding are judged by."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from checkpoints import StepEntry
from graph.plan import JSON, Step
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
    """A step of the plan as the board knows it."""
    return Work(step, session.require_board().entries.get(step.id), session.decisions.get(step.id))
