"""Drawing steps as a Mermaid flowchart."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import StrEnum
from typing import Protocol

from graph.plan.references import condition_expression
from graph.plan.statuses import StepStatus

_LABEL_CHARS = (60, 20, 10)
"""Characters of a line of a label; fewer of them where the whole would be too long."""

_MOST_TEXT = 50_000
_MOST_ARROWS = 499
"""What Mermaid draws; of more it makes a picture of a bomb."""

_STEERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Directions that a character may impose on the text around it."""

_MOST_SIDE_BY_SIDE = 8
"""Boxes in a row that can still be read on a page."""

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
    text = ""
    for chars in _LABEL_CHARS:
        text = _drawn(steps, statuses or {}, chars)
        if len(text) <= _MOST_TEXT:
            break
    return text


def _drawn(steps: Sequence[StepView], statuses: Mapping[str, StepStatus], chars: int) -> str:
    arrows = list(_arrows(steps, chars))
    lines = [f"flowchart {_direction(steps)}"]
    lines += [
        f'    n{index}["{_label(step, statuses.get(step.id), chars)}"]' for index, step in enumerate(steps)
    ]
    lines += arrows[:_MOST_ARROWS]
    if left := len(arrows[_MOST_ARROWS:]):
        lines.append(f'    more["and {left} more arrows"]')
    for index, step in enumerate(steps):
        colour = _COLOURS.get(statuses.get(step.id, StepStatus.PENDING))
        # The colours are light, and where the page is dark the text would be so too.
        lines += [f"    style n{index} fill:{colour},color:#000000"] if colour else []
    return "\n".join(lines) + "\n"


def _direction(steps: Sequence[StepView]) -> str:
    """Downwards, but to the right where more steps stand side by side than one after the other.

    A step that stands before one that it needs is counted too near to the start: it is but the looks.
    """
    ranks: dict[str, int] = {}
    for step in steps:
        ranks[step.id] = 1 + max((ranks.get(needed, 0) for needed in step.depends_on), default=0)
    side_by_side = Counter(ranks.values())
    widest = max(side_by_side.values(), default=0)
    return "LR" if widest > max(_MOST_SIDE_BY_SIDE, len(side_by_side)) else "TD"


def _arrows(steps: Sequence[StepView], chars: int) -> Iterator[str]:
    nodes = {step.id: f"n{index}" for index, step in enumerate(steps)}
    for index, step in enumerate(steps):
        for needed in step.depends_on:
            if needed in nodes:
                yield f"    {nodes[needed]} {_arrow(step, needed, chars)} n{index}"


def _arrow(step: StepView, needed: str, chars: int) -> str:
    if step.when is None:
        return "-->"
    return f'-. "{_escaped(step.when, chars)}" .->' if needed in _asked_about(step) else "-.->"


def _asked_about(step: StepView) -> Set[str]:
    return condition_expression(step.when).step_ids if step.when is not None else frozenset()


def _label(step: StepView, status: StepStatus | None, chars: int) -> str:
    alone = step.when is not None and not _asked_about(step) & set(step.depends_on)
    marks = [f"when {step.when}"] if alone else []
    marks += [] if step.fallback is None else [f"else {step.fallback.tool}"]
    marks += [] if step.risk == "low" else [f"{step.risk} risk"]
    marks += ["approval"] if step.require_approval else []
    marks += [] if status is None else [status.value]
    parts = [_escaped(part, chars) for part in (step.id, step.title or step.does)]
    parts.append(", ".join(_escaped(mark, chars) for mark in marks))
    return "<br/>".join(filter(None, parts))


def _escaped(text: str, chars: int) -> str:
    short = text if len(text) <= chars else text[:chars] + "…"
    return "".join(map(_escaped_char, short))


def _escaped_char(char: str) -> str:
    if char.isalnum() or char in " _-.,:/…":
        return char
    if unicodedata.bidirectional(char) in _STEERING:
        return "#65533;"
    # Two dollars side by side would begin a formula, even escaped: an invisible word joiner parts them.
    return "#36;#8288;" if char == "$" else f"#{ord(char)};"
