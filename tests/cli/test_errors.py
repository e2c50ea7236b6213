"""Every error becomes one line and one of a few exit codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.errors import GraphDrained
from typer.exceptions import TyperException

from checkpoints import RunBusyError, RunIdError, StoreBusyError, StoreFormatError, StoreUnavailableError
from graph.cli.errors import (
    MAX_LINE,
    ExitCode,
    NoSuchRun,
    error_code,
    error_line,
    exit_code_of_error,
    exit_code_of_status,
)
from graph.plan import PlanError, PlanProblem, RunStatus
from graph.state import SettingsError

EXIT_CODES = [
    (NoSuchRun("no"), 2, "no_such_run"),
    (SettingsError("no"), 2, "bad_setting"),
    (PlanError((PlanProblem("cycle", None, "a -> a"),)), 2, "invalid_plan"),
    (TyperException("no"), 2, "bad_usage"),
    (RunIdError("no"), 2, "bad_run_id"),
    (StoreBusyError("no"), 4, "store_busy"),
    (StoreUnavailableError("no"), 4, "store_unavailable"),
    (StoreFormatError("no"), 4, "store_format"),
    (RunBusyError("r1"), 4, "run_busy"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (GraphDrained(), 130, "interrupted"),
    (ZeroDivisionError("no"), 1, "unexpected"),
]


@pytest.mark.parametrize(("error", "exit_code", "code"), EXIT_CODES)
def test_each_kind_of_error_has_its_exit_code_and_word(
    error: BaseException, exit_code: int, code: str
) -> None:
    assert exit_code_of_error(error) == exit_code
    assert error_code(error) == code


def test_each_status_of_a_run_has_its_exit_code() -> None:
    assert {status.value: int(exit_code_of_status(status)) for status in RunStatus} == {
        "running": 130,
        "succeeded": 0,
        "partial": 1,
        "failed": 1,
        "rejected": 1,
        "stopped": 1,
        "waiting": 3,
    }


@given(st.text())
def test_an_error_is_one_short_line_that_steers_no_terminal(text: str) -> None:
    for error in (NoSuchRun(text), ValueError(text), PlanError((PlanProblem("c", text, text),))):
        line = error_line(error)
        assert len(line) <= MAX_LINE
        assert line.isprintable()


def test_a_plan_error_names_every_problem() -> None:
    line = error_line(PlanError((PlanProblem("cycle", None, "a -> a"), PlanProblem("empty", "s1", "why"))))
    assert "2 problems" in line
    assert "cycle: a -> a" in line
    assert "empty [s1]: why" in line


def test_an_unexpected_error_says_how_to_see_more() -> None:
    assert "PLANRAIL_DEBUG" in error_line(ZeroDivisionError("division"))
    assert exit_code_of_error(ZeroDivisionError()) is ExitCode.FAILED
