"""What a command line says and returns when something is wrong."""

import traceback
from enum import IntEnum
from typing import ClassVar, assert_never

import typer
from langgraph.errors import GraphDrained
from typer.exceptions import TyperException

from checkpoints import RunIdError, StoreError
from graph.cli.terminal import visible
from graph.plan import PlanError, PlanrailError, RunStatus

MAX_LINE = 900
"""Characters of an error line: a screenful, not a file that was echoed."""


class ExitCode(IntEnum):
    """What a command returns to its shell."""

    SUCCEEDED = 0
    FAILED = 1
    BAD_INPUT = 2
    WAITING = 3
    STORE = 4
    INTERRUPTED = 130


class UsageProblem(PlanrailError):  # noqa: N818 - base of what follows
    """Input or usage that no command can work with; the text holds the remedy."""

    code: ClassVar[str] = "bad_usage"


class NoSuchRun(UsageProblem):
    """A run that this database does not know."""

    code: ClassVar[str] = "no_such_run"


class NoSuchQuestion(UsageProblem):
    """An answer to a question that is not open, or that does not say which one it answers."""

    code: ClassVar[str] = "no_such_approval"


class RunIdTaken(UsageProblem):
    """A new run under the id of an old one."""

    code: ClassVar[str] = "run_exists"


class ModelMissing(UsageProblem):
    """Work for a model, and no model to do it."""

    code: ClassVar[str] = "no_model"


def exit_code_of_status(status: RunStatus) -> ExitCode:
    """The exit code of a command that worked on a run and left it in this state."""
    match status:
        case RunStatus.SUCCEEDED:
            return ExitCode.SUCCEEDED
        case RunStatus.WAITING:
            return ExitCode.WAITING
        case RunStatus.RUNNING:
            return ExitCode.INTERRUPTED
        case RunStatus.PARTIAL | RunStatus.FAILED | RunStatus.REJECTED | RunStatus.STOPPED:
            return ExitCode.FAILED
    assert_never(status)


def exit_code_of_error(error: BaseException) -> ExitCode:
    match error:
        case KeyboardInterrupt() | typer.Abort() | GraphDrained():
            return ExitCode.INTERRUPTED
        case RunIdError() | TyperException():
            return ExitCode.BAD_INPUT
        case StoreError():
            return ExitCode.STORE
        case PlanrailError():
            return ExitCode.BAD_INPUT
        case _:
            return ExitCode.FAILED


def error_code(error: BaseException) -> str:
    """A stable word for programs."""
    if isinstance(error, PlanrailError):
        return error.code
    match exit_code_of_error(error):
        case ExitCode.INTERRUPTED:
            return "interrupted"
        case ExitCode.BAD_INPUT:
            return "bad_usage"
        case _:
            return "unexpected"


def error_line(error: BaseException) -> str:
    """The one line that a person reads; never a traceback, never longer than `MAX_LINE`."""
    line = " ".join(visible(_text(error)).split())
    return line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"


def _text(error: BaseException) -> str:
    if isinstance(error, PlanError):
        count = len(error.problems)
        problems = "; ".join(str(problem) for problem in error.problems)
        return f"the plan has {count} problem{'s' if count > 1 else ''}: {problems}"
    if isinstance(error, TyperException):
        return f"{error.format_message()} (planrail --help lists commands and options)"
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted"
    if isinstance(error, PlanrailError | GraphDrained):
        return str(error)
    if isinstance(error, OSError):
        return f"the operating system refused: {error}; check the disk, the file and the terminal"
    said = "".join(traceback.format_exception_only(error)).strip()
    return f"unexpected error, a fault of planrail or of a tool module: {said} (PLANRAIL_DEBUG=1 shows where)"
