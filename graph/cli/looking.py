"""The commands that only look: at a run, at all runs, at a plan that is not run yet."""

from collections.abc import Sequence
from typing import Annotated

import typer

from checkpoints import OpenedStore, RunEntry, check_run_id, list_runs
from graph.cli import options
from graph.cli.any_tools import AnyTools
from graph.cli.documents import RunView, read_run, state_rows
from graph.cli.errors import ExitCode
from graph.cli.inputs import read_plan_or_problems, read_settings
from graph.cli.render import run_lines, runs_lines, state_lines
from graph.cli.runner import existing, is_missing, with_store
from graph.cli.setups import new_setup, tools_of
from graph.cli.terminal import terminal_width, visible, write_json, write_lines
from graph.plan import Plan, PlanProblem, check_plan, to_mermaid, to_text


def show(
    run_id: options.RunArgument,
    database: options.Database = options.DATABASE,
    as_json: options.AsJson = False,
) -> int:
    """Show where a run is, what it has done and what it waits for; also while it runs."""
    view = _read(database, run_id, whole_outputs=as_json)
    if as_json:
        write_json(view.document)
    else:
        write_lines(run_lines(view, database))
    return ExitCode.SUCCEEDED


def steps(
    run_id: options.RunArgument,
    database: options.Database = options.DATABASE,
    as_json: options.AsJson = False,
) -> int:
    """Print the state table of a run: a row for each step."""
    view = _read(database, run_id, whole_outputs=False)
    if as_json:
        write_json({"run": view.entry.run_id, "steps": state_rows(view)})
    else:
        write_lines(state_lines(view))
    return ExitCode.SUCCEEDED


def runs(
    *,
    database: options.Database = options.DATABASE,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, newest first.")] = 50,
    as_json: options.AsJson = False,
) -> int:
    """List the runs of a database, newest first."""

    async def work(opened: OpenedStore) -> Sequence[RunEntry]:
        return await list_runs(opened.store, limit=limit)

    entries = [] if is_missing(database) else with_store(database, work)
    if as_json:
        write_json({"runs": [entry.model_dump(mode="json") for entry in entries]})
    else:
        write_lines(runs_lines(entries, terminal_width()))
    return ExitCode.SUCCEEDED


def check(
    *,
    plan: options.PlanFile,
    tools: options.Tools = None,
    settings: options.SetOption = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the plan as a Mermaid graph.")] = False,
    as_json: options.AsJson = False,
) -> int:
    """Check a plan and show it; nothing is run. Without --tools all but the tools is checked."""
    limits = read_settings(settings or [])
    read, problems = read_plan_or_problems(plan)
    if read is not None:
        catalog = AnyTools() if tools is None else tools_of(new_setup(tools, []))
        problems = tuple(check_plan(read, catalog, limits.plan_limits))
    if as_json:
        write_json(
            {"plan": read.to_json() if read else None, "problems": [_as_json(each) for each in problems]}
        )
    else:
        write_lines(_check_lines(read, problems, mermaid=mermaid))
    return ExitCode.BAD_INPUT if problems else ExitCode.SUCCEEDED


def _check_lines(plan: Plan | None, problems: Sequence[PlanProblem], *, mermaid: bool) -> list[str]:
    if problems or plan is None:
        return [visible(str(problem)) for problem in problems]
    return [to_mermaid(plan) if mermaid else visible(to_text(plan))]


def _as_json(problem: PlanProblem) -> dict[str, str | None]:
    return {"code": problem.code, "step_id": problem.step_id, "message": problem.message}


def _read(database: str, run_id: str, *, whole_outputs: bool) -> RunView:
    async def work(opened: OpenedStore) -> RunView:
        return await read_run(opened, check_run_id(run_id), whole_outputs=whole_outputs)

    return with_store(existing(database, run_id), work)
