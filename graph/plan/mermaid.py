"""Drawing steps as a Mermaid flowchart."""

from collections.abc import Mapping, Sequence, Set
from enum import StrEnum
from typing import Protocol

from graph.plan.references import condition_expression
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


class CallView(Protocol):
    """What a drawing needs of a step's fallback."""

    @property
    def tool(self) -> str: ...


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
    @property
    def when(self) -> str | None: ...
    @property
    def fallback(self) -> CallView | None: ...


def flowchart(steps: Sequence[StepView], statuses: Mapping[str, StepStatus] | None = None) -> str:
    """Return Mermaid text: one box per step, an arrow from each step to those that need it.

    Arrows to a step with a condition are dashed, and those from the steps that it asks about bear it. Ids,
    titles and conditions may hold anything; they only ever appear as escaped labels.
    """
    known = statuses or {}
    nodes = {step.id: f"n{index}" for index, step in enumerate(steps)}
    lines = ["flowchart TD"]
    lines += [f'    n{index}["{_label(step, known.get(step.id))}"]' for index, step in enumerate(steps)]
    for index, step in enumerate(steps):
        lines += [
            f"    {nodes[needed]} {_arrow(step, needed)} n{index}"
            for needed in step.depends_on
            if needed in nodes
        ]
    for index, step in enumerate(steps):
        colour = _COLOURS.get(known.get(step.id, StepStatus.PENDING))
        lines += [f"    style n{index} fill:{colour}"] if colour else []
    return "\n".join(lines) + "\n"


def _arrow(step: StepView, needed: str) -> str:
    if step.when is None:
        return "-->"
    return f'-. "{_escaped(step.when)}" .->' if needed in _asked_about(step) else "-.->"


def _asked_about(step: StepView) -> Set[str]:
    return condition_expression(step.when).step_ids if step.when is not None else frozenset()


def _label(step: StepView, status: StepStatus | None) -> str:
    alone = step.when is not None and not _asked_about(step) & set(step.depends_on)
    marks = [f"when {step.when}"] if alone else []
    marks += [] if step.fallback is None else [f"else {step.fallback.tool}"]
    marks += [] if step.risk == "low" else [f"{step.risk} risk"]
    marks += ["approval"] if step.require_approval else []
    marks += [] if status is None else [status.value]
    parts = [step.id, step.title or step.does, ", ".join(marks)]
    return "<br/>".join(_escaped(part) for part in parts if part)


def _escaped(text: str) -> str:
    short = text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + "…"
    return "".join(char if char.isalnum() or char in " _-.,:/…" else f"#{ord(char)};" for char in short)
