"""The run's events as lines on stderr, while it runs."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from graph.cli.terminal import console, short

_LOOKS = {
    "step_started": (">", "cyan"),
    "step_succeeded": ("✓", "green"),
    "step_failed": ("✗", "red"),
    "step_skipped": ("-", "dim"),
    "step_retry": ("↻", "yellow"),
    "step_unknown": ("?", "magenta"),
    "approval_requested": ("?", "magenta"),
    "plan_revised": ("≠", "yellow"),
}


class Progress:
    """Prints each event as it comes; says nothing before the first, so that a refusal stays one line."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._console: Console | None = None

    def __call__(self, event: Mapping[str, Any]) -> None:
        if self._console is None:
            self._console = console(stderr=True)
            self._console.print(Text(f"run {self._run_id}", style="bold"))
        line = event_line(event)
        if line is not None:
            self._console.print(line)


def event_line(event: Mapping[str, Any]) -> Text | None:
    """One event as one line, or None for kinds that a person need not see."""
    look = _LOOKS.get(str(event.get("type")))
    if look is None:
        return None
    mark, style = look
    words = [str(event[name]) for name in ("step", "message") if event.get(name)]
    return Text.assemble("  ", (mark, style), " ", short("  ".join(words), 200))
