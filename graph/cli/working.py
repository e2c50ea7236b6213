"""The commands that work on a run: start it, go on with it, answer it."""

import uuid
from typing import Annotated, Any

import typer

from checkpoints import check_run_id
from graph.cli import options
from graph.cli.documents import RunView
from graph.cli.errors import UsageProblem, exit_code_of_status
from graph.cli.given import Equipment, Wish, plan_to_run
from graph.cli.inputs import (
    decider,
    read_json,
    read_json_object,
    read_settings,
)
from graph.cli.render import run_lines
from graph.cli.runner import Answer, Changes, NewRun, go_on, start
from graph.cli.setups import new_setup, tools_of
from graph.cli.terminal import write_json, write_lines
from graph.demo import Stage
from graph.models import models_from_environment
from graph.plan import RunStatus


def run(
    goal: Annotated[str | None, typer.Argument(metavar="GOAL", help="What is to be done.")] = None,
    *,
    plan: options.OptionalPlanFile = None,
    template: options.Template = None,
    params: options.Params = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    run_id: options.RunIdOption = None,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Start a run: of a plan that you give, of a template, or of a goal that a template or a model plans."""
    setup = new_setup(tools, settings or [])
    equipment = Equipment(tools_of(setup), models_from_environment(), read_settings(setup.settings))
    name = check_run_id(run_id) if run_id is not None else f"run-{uuid.uuid4().hex[:8]}"
    given = plan_to_run(Wish(goal, plan, template, tuple(params or ())), equipment)
    new = NewRun(name, given.goal if given else goal or "", given, setup, equipment)
    return report(start(database, new, whole_outputs=as_json), database, as_json=as_json)


def resume(
    run_id: options.RunArgument,
    *,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Go on with a run that was interrupted; finished steps are not run again."""
    return _go_on(run_id, database, Changes(tools, settings or []), None, as_json=as_json)


def approve(
    run_id: options.RunArgument,
    step: options.StepArgument = None,
    *,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Other arguments to run the step with.")
    ] = None,
    by: options.By = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Let a waiting step run, with the arguments that were shown or with your own."""
    reply: dict[str, Any] = {"decision": "approve", "by": decider(by)}
    if args is not None:
        reply |= {"decision": "edit", "args": read_json_object(args, "--args")}
    answer: Answer = ("approval", step, reply)
    return _go_on(run_id, database, Changes(tools, settings or []), answer, as_json=as_json)


def reject(
    run_id: options.RunArgument,
    step: options.StepArgument = None,
    *,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why not; kept with the run.")],
    then: Annotated[options.Then, typer.Option("--then", help="What follows.")] = options.Then.SKIP,
    by: options.By = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Keep a waiting step from running; it never will."""
    if not reason.strip():
        raise UsageProblem("--reason is empty: say why the step must not run")
    answer: Answer = (
        "approval",
        step,
        {"decision": "reject", "reason": reason, "then": then.value, "by": decider(by)},
    )
    return _go_on(run_id, database, Changes(tools, settings or []), answer, as_json=as_json)


def decide(
    run_id: options.RunArgument,
    step: Annotated[
        str, typer.Argument(metavar="STEP", help="The step whose outcome is unknown, or its approval id.")
    ],
    outcome: Annotated[options.Happened, typer.Argument(help="What became of the call.")],
    *,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON", help="The step's result, when it happened.")
    ] = None,
    by: options.By = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Say what became of a write whose outcome is unknown; it is called again only if it did not happen."""
    reply: dict[str, Any] = {"decision": outcome.value.replace("-", "_"), "by": decider(by)}
    if result is not None:
        if outcome is not options.Happened.HAPPENED:
            raise UsageProblem(f"--result goes with `happened`, not with `{outcome.value}`: leave it out")
        reply["result"] = read_json(result, "--result")
    answer: Answer = ("outcome", step, reply)
    return _go_on(run_id, database, Changes(tools, settings or []), answer, as_json=as_json)


def answer(
    run_id: options.RunArgument,
    step: options.StepArgument = None,
    *,
    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="The answer, as text.")] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="JSON", help="The answer, as data for the tool.")
    ] = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Answer a question that a step's tool asks; its call goes on with the answer."""
    if (text is None) == (value is None):
        raise UsageProblem("give the answer once: --text TEXT, or --value JSON for data")
    said = text if value is None else read_json(value, "--value")
    return _go_on(run_id, database, Changes(tools, settings or []), ("question", step, said), as_json=as_json)


def _go_on(run_id: str, database: str, changes: Changes, answer: Answer | None, *, as_json: bool) -> int:
    view, stage = go_on(database, check_run_id(run_id), changes, answer, whole_outputs=as_json)
    return report(view, database, stage, as_json=as_json)


def report(view: RunView, database: str, stage: Stage | None = None, *, as_json: bool) -> int:
    """Show a run as it stands, and what a demo has left; the exit code that tells how it stands."""
    if as_json:
        write_json(view.document)
    else:
        write_lines(run_lines(view, database))
    if stage is not None and view.entry.status is not RunStatus.RUNNING and not as_json:
        write_lines(["", *stage.aftermath()])
    return exit_code_of_status(view.entry.status)
