"""`planrail demo`: a shipped example on real parts beside the run database."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from checkpoints import check_run_id
from checkpoints.open import place_of
from graph.cli import options
from graph.cli.errors import UsageProblem
from graph.cli.given import Equipment, read_params
from graph.cli.inputs import read_settings
from graph.cli.runner import NewRun, start
from graph.cli.setups import DemoSetup, RunSetup, equipped
from graph.cli.terminal import write_lines
from graph.cli.working import report
from graph.demo import STANDARD, WALKTHROUGHS, Prelude, Stage, Walkthrough
from graph.models import models_from_environment
from graph.plan import Plan, to_text


def demo(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which one; --list tells.")] = None,
    *,
    variant: Annotated[
        str, typer.Option("--variant", metavar="NAME", help="How it goes; --list tells.")
    ] = STANDARD,
    params: options.Params = None,
    listed: Annotated[bool, typer.Option("--list", help="Say which demos there are.")] = False,
    database: options.Database = options.DATABASE,
    run_id: options.RunIdOption = None,
    as_json: options.AsJson = False,
) -> int:
    """Run an example on sample data: by itself a complaint, up to the reply that you approve."""
    if listed:
        write_lines(_list())
        return 0
    chosen = _chosen(name or next(iter(WALKTHROUGHS)), variant)
    run = check_run_id(run_id) if run_id is not None else f"demo-{uuid.uuid4().hex[:6]}"
    place = place_of(database)
    setup = RunSetup(
        demo=DemoSetup(name=chosen.name, variant=variant, place=str(place.with_name(place.stem))),
        settings=chosen.variants[variant].settings,
    )
    plan = chosen.plan(variant, read_params(params or ()))
    with equipped(setup) as (tools, models, stage):
        assert stage is not None
        assert setup.demo is not None
        write_lines(_intro(chosen, variant, plan, stage), stderr=as_json)
        equipment = Equipment(tools, models, read_settings(setup.settings))
        if place.parent.is_dir():  # else the store refuses it
            chosen.variants[variant].begin(Path(setup.demo.place))
        prelude = chosen.variants[variant].prelude
        if prelude is not None:
            write_lines([f"first, {prelude.about}"], stderr=as_json)
            _play(prelude, database, f"{run}-before", setup, equipment)
        new = NewRun(run, plan.goal, plan, setup, equipment)
        view = start(database, new, whole_outputs=as_json)
        return report(view, database, stage, as_json=as_json)


def _chosen(name: str, variant: str) -> Walkthrough:
    """The walkthrough; raises UsageProblem when there is none of that name, or it has no such variant."""
    found = WALKTHROUGHS.get(name)
    if found is None:
        raise UsageProblem(f"there is no demo {name!r}: choose {', '.join(WALKTHROUGHS)}")
    if variant not in found.variants:
        known = ", ".join(found.variants)
        raise UsageProblem(f"the demo {name} has no variant {variant!r}: choose {known}")
    return found


def _play(prelude: Prelude, database: str, run: str, setup: RunSetup, equipment: Equipment) -> None:
    """Let what came before happen; how that run ended is to be seen under its own id."""
    assert setup.demo is not None
    plan = prelude.plan()
    start(database, NewRun(run, plan.goal, plan, setup, equipment), whole_outputs=False)
    prelude.after(Path(setup.demo.place))


def _list() -> Iterator[str]:
    for each in WALKTHROUGHS.values():
        yield f"{each.name}: {each.about}"
        yield from (f"  --variant {name}: {variant.about}" for name, variant in each.variants.items())


def _intro(chosen: Walkthrough, variant: str, plan: Plan, stage: Stage) -> Iterator[str]:
    """The plan, and where its parts come from."""
    yield f"{chosen.name}: {chosen.about}"
    yield f"{variant}: {chosen.variants[variant].about}"
    yield ""
    yield to_text(plan).rstrip()
    yield ""
    yield from stage.places
    if models_from_environment():
        yield f"{chosen.recorded}: asked of the endpoint that OPENAI_API_KEY or OPENAI_BASE_URL names"
    else:
        yield (
            f"{chosen.recorded}: a RECORDED answer, since no model is configured "
            "(OPENAI_API_KEY or OPENAI_BASE_URL would name one)"
        )
    yield ""
