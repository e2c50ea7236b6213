"""The run's events as lines on stderr, while it runs."""

import contextlib
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from graph.cli.terminal import console, short

_LOOKS = {
    "template": ("=", "dim", None),
    "plan_accepted": ("=", "bold", "plan"),
    "plan_refused": ("!", "yellow", "plan sent back to the model"),
    "plan_revised": ("=", "yellow", "plan revised"),
    "replan_refused": ("!", "yellow", "no other plan"),
    "premise_broken": ("!", "yellow", "the plan no longer holds"),
    "premise_unchecked": ("!", "yellow", "whether the plan holds is not known"),
    "step_started": (">", "cyan", "started"),
    "step_progress": (">", "dim", None),
    "step_attempt": (">", "cyan", "tried again"),
    "step_from_cache": ("=", "dim", "took a kept result"),
    "step_stale": ("!", "yellow", "took an old result"),
    "step_fallback": ("!", "yellow", "calls another tool"),
    "step_retry": ("!", "yellow", "will be tried again"),
    "step_bound": ("=", "dim", "arguments chosen by the model"),
    "call_started": (">", "dim", "calls"),
    "call_attempt": (">", "dim", "calls again"),
    "call_from_cache": ("=", "dim", "took a kept result"),
    "call_stale": ("!", "yellow", "took an old result"),
    "call_fallback": ("!", "yellow", "calls another tool"),
    "call_retry": ("!", "yellow", "will be called again"),
    "step_redo": ("!", "yellow", "answer sent back to the model"),
    "step_succeeded": ("✓", "green", "succeeded"),
    "step_failed": ("✗", "red", "failed"),
    "step_not_taken": ("-", "dim", "not taken"),
    "step_skipped": ("-", "dim", "skipped"),
    "step_unknown": ("?", "magenta", "outcome unknown"),
    "approval_requested": ("?", "magenta", "waits for a person"),
    "approval_approve": ("✓", "green", "approved"),
    "approval_edit": ("✓", "green", "approved with other arguments"),
    "approval_reject": ("✗", "red", "rejected"),
}


class Progress:
    """Prints each event as it comes; says nothing before the first, so that a refusal stays one line."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._console: Console | None = None

    def __call__(self, event: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody may be left to read it
            self._print(event)

    def _print(self, event: Mapping[str, Any]) -> None:
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
    mark, style, words = look
    parts = [str(part) for part in (event.get("step"), words, event.get("message")) if part]
    return Text.assemble("  ", (mark, style), " ", short("  ".join(parts), 200))
