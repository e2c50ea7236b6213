"""Drawing steps as a Mermaid flowchart."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from graph.plan.statuses import StepStatus

_MOST_CHARS = 60
_COLOURS = {
    StepStatus.RUNNING: "#bfdbfe",
    StepStatus.WAITING: "#fde68a",
    StepStatus.SUCCEEDED: "#bbf7d0",
    StepStatus.FAILED: "#fecaca",
    StepStatus.REJECTED: "#fecaca",
    StepStatus.UNKNOWN: "#fed7aa",
    StepStatus.SKIPPED: "#e5e7eb",
    StepStatus.NOT_TAKEN: "#e5e7eb",
    StepStatus.CANCELLED: "#e5e7eb",
}


class StepView(Protocol):
    """What a drawing needs of a step."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def depends_on(self) -> tuple[str, ...]: ...
    @property
    def risk(self) -> StrEnum: ...
    @property
    def require_approval(self) -> bool: ...
    @property
    def does(self) -> str: ...


def flowchart(steps: Sequence[StepView], statuses: Mapping[str, StepStatus] | None = None) -> str:
    """Return Mermaid text: one box per step, an arrow from each step to those that need it.

    Ids and titles may hold anything; they only ever appear as escaped labels.
    """
    known = statuses or {}
    nodes = {step.id: f"n{index}" for index, step in enumerate(steps)}
    lines = ["flowchart TD"]
    lines += [f'    n{index}["{_label(step, known.get(step.id))}"]' for index, step in enumerate(steps)]
    for index, step in enumerate(steps):
        lines += [f"    {nodes[needed]} --> n{index}" for needed in step.depends_on if needed in nodes]
    for index, step in enumerate(steps):
        colour = _COLOURS.get(known.get(step.id, StepStatus.PENDING))
        lines += [f"    style n{index} fill:{colour}"] if colour else []
    return "\n".join(lines) + "\n"


def _label(step: StepView, status: StepStatus | None) -> str:
    marks = [] if step.risk == "low" else [f"{step.risk} risk"]
    marks += ["approval"] if step.require_approval else []
    marks += [] if status is None else [status.value]
    parts = [step.id, step.title or step.does, ", ".join(marks)]
    return "<br/>".join(_escaped(part) for part in parts if part)


def _escaped(text: str) -> str:
    short = text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + "…"
    return "".join(char if char.isalnum() or char in " _-.,:/…" else f"#{ord(char)};" for char in short)
