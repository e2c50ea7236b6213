"""Showing a plan to people."""

from collections.abc import Mapping

from graph.plan.columns import aligned
from graph.plan.mermaid import flowchart
from graph.plan.models import Plan
from graph.plan.statuses import StepStatus
from graph.plan.steps import Step

_WIDEST = 30
"""Cells of a column: one step that waits for many must not push every title out of sight."""


def to_mermaid(plan: Plan, statuses: Mapping[str, StepStatus] | None = None) -> str:
    """Return a plan as a Mermaid flowchart.

    Args:
        plan: Any plan, also one that does not check clean.
        statuses: Status by step id, shown and coloured.
    """
    return flowchart(plan.steps, statuses)


def to_text(plan: Plan, statuses: Mapping[str, StepStatus] | None = None) -> str:
    """Return a plan as lines for a terminal, one per step after a heading.

    Args:
        plan: Any plan, also one that does not check clean.
        statuses: Status by step id, shown in a column of its own.
    """
    parent = "" if plan.parent_revision is None else f" (from {plan.parent_revision})"
    heading = _visible(f"plan {plan.plan_id} revision {plan.revision}{parent} by {plan.author}: {plan.goal}")
    lines = aligned([_row(step, statuses) for step in plan.steps], _WIDEST)
    return "\n".join([heading, *(f"  {line}" for line in lines)]) + "\n"


def _row(step: Step, statuses: Mapping[str, StepStatus] | None) -> tuple[str, ...]:
    status = [] if statuses is None else [statuses.get(step.id, StepStatus.PENDING).value]
    risk = step.risk.value + (" + approval" if step.require_approval else "")
    after = "after " + ", ".join(step.depends_on) if step.depends_on else ""
    cells = [step.id, *status, step.does, risk, after, step.title, _rules(step)]
    return tuple(_visible(cell) for cell in cells)


def _rules(step: Step) -> str:
    """What decides whether a step is taken, what is expected of it, and what stands in for it."""
    told = [("when", step.when), ("expects", step.expect)]
    told.append(("else tool", step.fallback.tool if step.fallback else None))
    return ", ".join(f"{word} {text}" for word, text in told if text is not None)


def _visible(text: str) -> str:
    """Replace control characters, which could move the cursor or hide text in a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
