"""`planrail`: the commands put together, and the one place where an error becomes a line and an exit code."""

import contextlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from graph.cli.configuring import settings
from graph.cli.demo import demo
from graph.cli.errors import error_code, error_line, exit_code_of_error
from graph.cli.looking import check, runs, show, steps
from graph.cli.planning import plan
from graph.cli.probing import models_app
from graph.cli.streams import among_messages, reserved_stdout
from graph.cli.templating import template_app, templates
from graph.cli.terminal import prepare_streams, write_json, write_lines
from graph.cli.working import answer, approve, decide, reject, resume, run
from graph.state import using_config


def _in_short(command: Callable[..., Any]) -> str:
    """What a command does, up to the first colon or semicolon; click would cut it after 45 characters."""
    first = re.split(r"[:;] |\.?$", inspect.getdoc(command) or "", maxsplit=1, flags=re.MULTILINE)[0]
    return f"{first}."


app = typer.Typer(
    name="planrail",
    add_completion=False,
    rich_markup_mode=None,
    help="Runs versioned plans step by step, in parallel, written down, resumable, with approvals.",
    epilog="Exit codes: 0 succeeded, 1 failed or partial, 2 bad usage or input, 3 waiting for a person, "
    "4 store busy or unavailable, 130 interrupted.",
)

for _command in (
    run,
    plan,
    resume,
    approve,
    reject,
    decide,
    answer,
    show,
    steps,
    runs,
    check,
    templates,
    settings,
    demo,
):
    app.command(short_help=_in_short(_command))(among_messages(_command))
app.add_typer(template_app, name="template")
app.add_typer(models_app, name="models")


def run_command(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: Arguments without the program's name; those of this process, whose stdout is then the command's
            until it ends, when absent.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    with reserved_stdout(for_good=argv is None):
        try:
            result = app(args=words or ["--help"], prog_name="planrail", standalone_mode=False)
        except (Exception, KeyboardInterrupt, typer.Abort) as error:  # noqa: BLE001 - the outermost frame
            return _refuse(error, as_json="--json" in words)
    return int(result or 0)


def _refuse(error: BaseException, *, as_json: bool) -> int:
    line = error_line(error)
    if os.environ.get("PLANRAIL_DEBUG") == "1":
        traceback.print_exception(error)
    if as_json:
        with contextlib.suppress(OSError):  # a full disk may be the very error
            write_json({"error": {"code": error_code(error), "message": line}})
    write_lines([f"error: {line}"], stderr=True)
    return exit_code_of_error(error)


def _print_version(wanted: bool) -> None:
    if wanted:
        write_lines([f"planrail {version('planrail')}"])
        raise typer.Exit(0)


@app.callback()
def _planrail(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings as TOML; planrail.toml where you are, when absent."
        ),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Runs versioned plans step by step, in parallel, written down, resumable, with approvals."""
    context.with_resource(using_config(config))
