"""How long steps are expected to take, and how long those of a run have taken, by kind."""

from collections import defaultdict
from collections.abc import Mapping

from checkpoints import StepEntry
from graph.plan import MapStep, Plan, Step, StepStatus, ToolStep
from nodes.decide.forecast import GUESSED_MODEL_SECONDS, GUESSED_SECONDS


def kind_of(step: Step) -> str:
    """What steps have in common that take about as long: `tool NAME`, `map tool NAME`, or the action."""
    if isinstance(step, ToolStep):
        return f"tool {step.tool}"
    return f"map {kind_of(step.step)}" if isinstance(step, MapStep) else step.action


def expected_seconds(plan: Plan, means: Mapping[str, float]) -> dict[str, float]:
    """Seconds that each step is expected to take: the mean of its kind, or a guess."""
    return {step.id: means.get(kind_of(step), _guess(step)) for step in plan.steps}


def _guess(step: Step) -> float:
    return GUESSED_SECONDS.get(step.action, GUESSED_MODEL_SECONDS)


def seconds_taken(plan: Plan, entries: Mapping[str, StepEntry]) -> dict[str, list[float]]:
    """Seconds of the steps and items that succeeded at once, by kind.

    What was tried again, taken up after a kill, or not called at all tells nothing of the tool.
    """
    known = {step.id: kind_of(step) for step in plan.steps}
    taken: dict[str, list[float]] = defaultdict(list)
    for entry in entries.values():
        kind = known.get(entry.step_id) if entry.item is None else _kind_of_item(entry)
        seconds = _seconds(entry)
        if kind is not None and seconds is not None:
            taken[kind].append(seconds)
    return dict(taken)


def _kind_of_item(entry: StepEntry) -> str:
    return f"tool {entry.tool}" if entry.tool is not None else entry.action


def _seconds(entry: StepEntry) -> float | None:
    at_once = entry.status is StepStatus.SUCCEEDED and entry.attempts == 1
    borrowed = entry.age is not None or entry.fallback_tool is not None
    if not at_once or borrowed or entry.started_at is None or entry.ended_at is None:
        return None
    return max(0.0, (entry.ended_at - entry.started_at).total_seconds())
