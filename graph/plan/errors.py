"""Errors of the project: one base with a stable code, and the two that plans raise."""

from dataclasses import dataclass
from typing import ClassVar

_SHOWN_PROBLEMS = 50
_SHOWN_CHARS = 120


class PlanrailError(RuntimeError):
    """Base of every error this project raises on purpose.

    `code` is stable and meant for programs; the text is one readable line with the remedy. It is a
    RuntimeError because the LangGraph server hides the text of exceptions that are of no built-in kind.
    """

    code: ClassVar[str] = "planrail_error"


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """One reason why a plan may not run.

    `step_id` is None when the problem belongs to the plan as a whole.
    """

    code: str
    step_id: str | None
    message: str

    def __str__(self) -> str:
        """Return `code [step]: message` on one line."""
        step = "" if self.step_id is None else f" [{self.step_id}]"
        return f"{self.code}{step}: {self.message}"


class PlanError(PlanrailError):
    """A plan that must not run, with everything that is wrong with it."""

    code = "invalid_plan"

    def __init__(self, problems: tuple[PlanProblem, ...]) -> None:
        """Keep the problems and say them in the order found.

        Args:
            problems: At least one problem.
        """
        self.problems = problems
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        shown = [f"- {problem}" for problem in problems[:_SHOWN_PROBLEMS]]
        rest = len(problems) - len(shown)
        more = [f"- and {rest} more"] if rest else []
        super().__init__("\n".join([f"the plan has {count}:", *shown, *more]))


class ReferenceFailure(PlanrailError):  # noqa: N818 - an outcome that callers record, next to ToolFailure and the like
    """An expression could not be evaluated on the results at hand."""

    code = "unknown_reference"

    def __init__(self, expression: str, message: str) -> None:
        """Name the expression and what went wrong with it.

        Args:
            expression: The text between the braces.
            message: What is missing or wrong, and what there is instead.
        """
        self.expression = expression
        shown = expression if len(expression) <= _SHOWN_CHARS else expression[:_SHOWN_CHARS] + "…"
        super().__init__(f"${{{shown}}}: {message}")
