"""The commands about templates: list them, and make one of a run."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from checkpoints import OpenedStore, check_run_id
from graph.cli import options
from graph.cli.documents import RunView, read_run
from graph.cli.errors import ExitCode, UsageProblem
from graph.cli.given import Equipment, read_params
from graph.cli.inputs import read_settings
from graph.cli.invocation import command_line
from graph.cli.runner import existing, with_store
from graph.cli.setups import RunSetup, new_setup, recall, require_setup, tools_of
from graph.cli.streams import among_messages
from graph.cli.terminal import short, table, terminal_width, visible, write_json, write_lines
from graph.models import models_from_environment
from graph.plan import Plan, RunStatus, Step, ToolStep, has_reference
from graph.plan.templates import Param, Template, TemplateLibrary, load_templates, template_of, to_yaml
from graph.state import Engine, Settings, faults_of
from graph.state.settings import DEFAULT_TEMPLATES
from tools import ToolRegistry, fingerprints

template_app = typer.Typer(help="Make templates of runs.", rich_markup_mode=None, no_args_is_help=True)


def templates(
    *,
    tools: options.Tools = None,
    settings: options.SetOption = None,
    as_json: options.AsJson = False,
) -> int:
    """List the templates there are; with --tools also whether they go with these tools."""
    setup = new_setup(tools, settings or [])
    chosen = read_settings(setup.settings)
    engine = None if tools is None else Equipment(tools_of(setup), models_from_environment(), chosen).engine
    library = load_templates(chosen.template_folders)
    rows = [_row(template, library, engine) for template in library.templates.values()]
    if as_json:
        bad = [{"path": each.path, "message": each.message} for each in library.problems]
        write_json({"templates": rows, "problems": bad})
        return ExitCode.SUCCEEDED
    write_lines(_lines(rows))
    write_lines([f"not loaded: {visible(str(each))}" for each in library.problems], stderr=True)
    return ExitCode.SUCCEEDED


def _row(template: Template, library: TemplateLibrary, engine: Engine | None) -> dict[str, Any]:
    return {
        "name": template.name,
        "version": template.version,
        "description": template.description or template.plan.get("goal"),
        "params": {name: _param(param) for name, param in template.params.items()},
        "tools": sorted(template.used_tools),
        "rules": len(template.match),
        "path": library.paths[template.name],
        "faults": None if engine is None else list(faults_of(engine, template)),
    }


def _param(param: Param) -> dict[str, Any]:
    told = param.model_dump(mode="json", exclude_unset=True)
    return {"type": param.type, **told, "required": param.required}


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    cells = [
        [row["name"], str(row["version"]), " ".join(row["params"]), short(row["description"] or "", 200)]
        for row in rows
    ]
    lines = table(["NAME", "VERSION", "PARAMS", "FOR"], cells, width=terminal_width())
    faults = [f"{row['name']}: {visible(fault)}" for row in rows for fault in row["faults"] or ()]
    return [*lines, *(["", *faults] if faults else [])]


@template_app.command(short_help="Save the plan of a run that succeeded as a template.")
@among_messages
def save(
    run_id: options.RunArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The template's name.")],
    *,
    params: options.Params = None,
    description: Annotated[str, typer.Option("--description", help="What it is for, in words.")] = "",
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FOLDER", help="Where to, if not the setting's last folder."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write the next version over a template of that name.")
    ] = False,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
) -> int:
    """Save the plan of a run that succeeded as a template; -p NAME=VALUE makes a value a parameter."""
    values, chosen = read_params(params or []), read_settings(settings or [])
    view, setup = _read(database, run_id, tools)
    registry = tools_of(setup.with_changes(tools, []))
    plan = _saved_plan(view, registry, values)
    folder = Path(to) if to is not None else _folder(chosen)
    path = folder / f"{name}.yaml"
    template = template_of(
        plan,
        name,
        values,
        version=_next_version(path, replace=replace),
        description=description,
        fingerprints=fingerprints(registry),
    )
    _write(path, to_yaml(template))
    write_lines(_saved_lines(template, path, to))
    return ExitCode.SUCCEEDED


def _read(database: str, run_id: str, tools: str | None) -> tuple[RunView, RunSetup]:
    async def work(opened: OpenedStore) -> tuple[RunView, RunSetup]:
        view = await read_run(opened, check_run_id(run_id), whole_outputs=False)
        return view, require_setup(await recall(opened.store, run_id), run_id, tools)

    return with_store(existing(database, run_id), work)


def _saved_plan(view: RunView, registry: ToolRegistry, values: dict[str, str]) -> Plan:
    """The plan, if it is worth keeping; raises UsageProblem."""
    run_id = view.entry.run_id
    if view.plan is None or view.entry.status is not RunStatus.SUCCEEDED:
        raise UsageProblem(
            f"run {run_id} is {view.entry.status.value} and no plan of it is proven: save one that succeeded"
        )
    for step in view.plan.steps:
        for name in _secrets(step, registry, values):
            raise UsageProblem(f"{name} of {step.id} is secret: make it a parameter with -p {name}=VALUE")
    return view.plan


def _secrets(step: Step, registry: ToolRegistry, values: dict[str, str]) -> list[str]:
    """The redacted arguments that stand in the plan as they are and would stand in the file."""
    tool = registry.get(step.tool) if isinstance(step, ToolStep) else None
    if tool is None or not isinstance(step, ToolStep):
        return []
    given = {name: step.args[name] for name in sorted(tool.policy.redact) if name in step.args}
    kept = values.values()
    return [n for n, value in given.items() if not has_reference(value) and str(value) not in kept]


def _folder(settings: Settings) -> Path:
    folders = [each for each in settings.templates.split(os.pathsep) if each.strip()]
    return Path(folders[-1] if folders else DEFAULT_TEMPLATES)


def _next_version(path: Path, *, replace: bool) -> int:
    if not path.exists():
        return 1
    if not replace:
        raise UsageProblem(f"{path} exists already: choose another NAME, or --replace it by its next version")
    known = load_templates([path.parent]).templates.get(path.stem)
    return 1 if known is None else known.version + 1


def _write(path: Path, text: str) -> None:
    """Put the file there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _saved_lines(template: Template, path: Path, to: str | None) -> list[str]:
    words = [f"template {template.name} version {template.version} saved in {path}"]
    found = (
        "goals like the run's are matched by rule"
        if template.match
        else ("no rule: the run's goal does not name every parameter, so --template must name it")
    )
    shown = [word for name in template.params for word in ("-p", f"{name}=VALUE")]
    more = [] if to is None else ["--set", f"templates={to}"]
    line = command_line("run", "--template", template.name, *shown, *more, database=options.DATABASE)
    return [*words, found, f"  {line}"]
