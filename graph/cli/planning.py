"""`planrail plan`: what a goal would become, what it would need, and nothing of it done."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from checkpoints import Journal, OpenedStore, StepEntry, StoreError, list_runs
from graph.build import Forecast, build_graph, forecast, past_of
from graph.cli import options
from graph.cli.errors import ExitCode
from graph.cli.given import Equipment, Wish, plan_to_run
from graph.cli.inputs import read_settings
from graph.cli.progress import event_line
from graph.cli.runner import as_given, is_missing, with_store
from graph.cli.setups import new_setup, tools_of
from graph.cli.terminal import short, visible, write_json, write_lines
from graph.models import models_from_environment
from graph.plan import Plan, PlanError, PlanProblem, to_mermaid, to_text
from graph.state import model_name

PAST_RUNS = 20
"""Runs of the database that tell how long steps take."""


@dataclass(frozen=True)
class DryRun:
    """What planning gave: a plan with its forecast, problems, an answer that needs no plan, or why not."""

    plan: Plan | None = None
    forecast: Forecast | None = None
    problems: tuple[PlanProblem, ...] = ()
    answer: str | None = None
    reason: str | None = None
    usage: dict[str, Any] | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.problems:
            return ExitCode.BAD_INPUT
        return ExitCode.FAILED if self.plan is None and self.answer is None else ExitCode.SUCCEEDED


def plan(
    goal: Annotated[str | None, typer.Argument(metavar="GOAL", help="What is to be done.")] = None,
    *,
    plan_file: options.OptionalPlanFile = None,
    template: options.Template = None,
    params: options.Params = None,
    tools: options.Tools = None,
    database: options.Database = options.DATABASE,
    settings: options.SetOption = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the plan as a Mermaid graph.")] = False,
    as_json: options.AsJson = False,
) -> int:
    """Plan without running: the plan, its problems, the approvals, calls, tokens, cost and time it needs."""
    setup = new_setup(tools, settings or [])
    equipment = Equipment(tools_of(setup), models_from_environment(), read_settings(setup.settings))
    try:
        given = plan_to_run(Wish(goal, plan_file, template, tuple(params or ())), equipment)
    except PlanError as error:
        found = DryRun(problems=error.problems)
    else:
        found = _looked_at(asyncio.run(_planned(goal, given, equipment)), equipment, database)
    if as_json:
        write_json(_document(found))
    else:
        write_lines(_lines(found, mermaid=mermaid))
    return found.exit_code


async def _planned(goal: str | None, given: Plan | None, equipment: Equipment) -> DryRun:
    """Let the graph plan, in memory, and stop it before anything is scheduled."""
    graph = build_graph(
        tools=equipment.tools,
        models=equipment.models,
        settings=equipment.settings,
        checkpointer=InMemorySaver(),
        interrupt_after=["planner"],
    )
    name = f"plan-{uuid.uuid4().hex[:8]}"
    config: RunnableConfig = {"configurable": {"thread_id": name}}
    wish = {"goal": goal or (given.goal if given else ""), "plan": as_given(given)}
    async for event in graph.astream(wish, config, stream_mode="custom"):
        line = event_line(event)
        write_lines([] if line is None else [line], stderr=True)
    values = (await graph.aget_state(config)).values
    made = Plan.from_json(values["plan"]) if values.get("plan") else None
    return DryRun(
        plan=made, answer=values.get("answer"), reason=values.get("reason"), usage=values.get("usage")
    )


def _looked_at(found: DryRun, equipment: Equipment, database: str) -> DryRun:
    if found.plan is None:
        return found
    model = equipment.engine.model("executor")
    price = equipment.settings.price_of(model_name(model)) if model is not None else None
    past = past_of(_past_steps(database))
    told = forecast(found.plan, equipment.tools, equipment.settings, past, price)
    return DryRun(found.plan, told, usage=found.usage)


def _past_steps(database: str) -> Sequence[StepEntry]:
    """The steps of the latest runs, where there is a database that can be read: guesses do without."""

    async def work(opened: OpenedStore) -> list[StepEntry]:
        found: list[StepEntry] = []
        for run in await list_runs(opened.store, limit=PAST_RUNS):
            found += (await Journal(opened.store, run.run_id).load()).steps.values()
        return found

    try:
        return [] if is_missing(database) else with_store(database, work)
    except StoreError:
        return []


def _document(found: DryRun) -> dict[str, Any]:
    return {
        "plan": found.plan.to_json() if found.plan else None,
        "problems": [{"code": p.code, "step_id": p.step_id, "message": p.message} for p in found.problems],
        "answer": found.answer,
        "reason": found.reason,
        "forecast": found.forecast.to_json() if found.forecast else None,
        "usage": found.usage or {},
    }


def _lines(found: DryRun, *, mermaid: bool) -> list[str]:
    if found.problems:
        return [visible(str(problem)) for problem in found.problems]
    if found.plan is None or found.forecast is None:
        words = "answer, without a plan" if found.answer is not None else "no plan"
        return [f"{words}: {visible(found.answer or found.reason or 'the model gave none')}"]
    drawn = to_mermaid(found.plan) if mermaid else to_text(found.plan)
    return [visible(drawn).rstrip(), "", *_forecast_lines(found.forecast), *_usage_lines(found.usage)]


def _forecast_lines(told: Forecast) -> list[str]:
    approvals = [
        f"  {short(each.step, 40)}  {each.tool or ''}  risk {each.risk}  ({visible(each.reason)})"
        f"{'' if each.certain else '  perhaps'}"
        for each in told.approvals
    ]
    cost = "unknown, its model has no price (setting prices)" if told.cost is None else f"{told.cost:.4f}"
    agents = f", and up to {told.agent_calls} of each by agents" if told.agent_calls else ""
    conditional = _counted(len(told.conditional), "step")
    perhaps = f"  ({conditional} only where a condition holds)" if told.conditional else ""
    guessed = f"  ({_counted(len(told.guessed), 'step')} never timed, guessed)" if told.guessed else ""
    return [
        f"approvals    {len(approvals) or 'none'}",
        *approvals,
        f"calls        {told.tool_calls} of tools, {told.model_calls} of models{agents}{perhaps}",
        f"tokens       about {told.input_tokens} in, {told.output_tokens} out",
        f"cost         {cost}",
        f"time         about {told.seconds:.1f} s{guessed}",
    ]


def _usage_lines(usage: dict[str, Any] | None) -> list[str]:
    calls = (usage or {}).get("model_calls")
    return [f"planning     took {_counted(calls, 'model call')}"] if calls else []


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
