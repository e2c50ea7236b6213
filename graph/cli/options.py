"""The options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer

from graph.cli.invocation import DEFAULT_DATABASE

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run; `planrail runs` lists them.")]
StepArgument = Annotated[
    str | None, typer.Argument(metavar="STEP", help="Step or approval id; needless when one waits.")
]
Database = Annotated[
    str, typer.Option("--db", metavar="PATH", envvar="PLANRAIL_DB", help="SQLite file that holds the runs.")
]
Tools = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="MODULE[:ATTR]",
        envvar="PLANRAIL_TOOLS",
        help="Module or .py file with your tools; mcp:FILE.json for MCP servers, more after commas.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as approve_at=low; may be repeated."),
]
PlanFile = Annotated[str, typer.Option("--plan", metavar="FILE|-", help="A plan as JSON; - reads stdin.")]
OptionalPlanFile = Annotated[
    str | None, typer.Option("--plan", metavar="FILE|-", help="A plan as JSON; - reads stdin.")
]
Template = Annotated[
    str | None,
    typer.Option("--template", metavar="NAME", help="One of `planrail templates`."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("-p", "--param", metavar="NAME=VALUE", help="A template's parameter; may be repeated."),
]
RunIdOption = Annotated[
    str | None, typer.Option("--run-id", metavar="ID", help="Name of the new run; made up when absent.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, progress on stderr.")]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who decides; you, when absent.")]

DATABASE = DEFAULT_DATABASE


class Then(StrEnum):
    """What follows a rejection."""

    SKIP = "skip"
    REPLAN = "replan"
    STOP = "stop"


class Happened(StrEnum):
    """What became of a call whose outcome is not known."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not-happened"
    STOP = "stop"
