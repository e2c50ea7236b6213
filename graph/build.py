"""build_graph: the StateGraph that joins the nodes, compiled into an ordinary LangGraph graph."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import All

from graph.edges import after_executor, after_planner, after_replanner, after_scheduler, after_validator
from graph.plan import PlanrailError
from graph.plan.templates import TemplateLibrary, load_templates
from graph.running import PlanrailGraph
from graph.state import Engine, GraphInput, GraphOutput, GraphState, RunContext, Settings, StepTask
from nodes.approval import approval
from nodes.decide.forecast import Forecast, forecast, past_of
from nodes.executor import executor
from nodes.planner import planner
from nodes.replanner import replanner
from nodes.reporter import reporter
from nodes.scheduler import scheduler
from nodes.validator import validator
from tools import ToolRegistry

__all__ = ["ROLES", "BuildError", "Forecast", "build_graph", "forecast", "past_of"]

_LOG = logging.getLogger("planrail")

ROLES = ("planner", "executor", "validator", "replanner", "reporter", "default")


class BuildError(PlanrailError):
    """The parts do not make a graph; the message names the part and the remedy."""

    code: ClassVar[str] = "bad_build"


def build_graph(
    *,
    tools: ToolRegistry | Sequence[Any] = (),
    models: BaseChatModel | Mapping[str, BaseChatModel] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    store: BaseStore | None = None,
    interrupt_before: All | list[str] | None = None,
    interrupt_after: All | list[str] | None = None,
    name: str = "planrail",
) -> PlanrailGraph:
    """The compiled graph: `invoke`, `ainvoke`, `stream` and `astream` run a plan to its answer.

    Input is `{"goal": str, "plan": Plan | dict | None}`, or `{"template": str, "params": dict}`; output is
    `status, success, answer, reason, plan, steps, effects, replans, usage, pending`. The same object
    serves scripts, services with several event loops, and notebook cells.

    Args:
        tools: LangChain tools and functions, with `tools.policy` where they have one; or a registry.
        models: One chat model for all roles, or one per role (planner, executor, validator, replanner,
            reporter; `default` for the others). None runs plans of tool steps that a caller gives.
        settings: Limits and choices; by default those of the environment (`PLANRAIL_*`).
        checkpointer: Any LangGraph saver with async methods; `checkpoints.open_store` gives one.
        store: Any LangGraph store; it holds the journal. Must come along with a lasting checkpointer.
        interrupt_before: Nodes to stop before, for debugging.
        interrupt_after: Nodes to stop after, for debugging.
        name: The graph's name in traces and Studio.

    Raises:
        BuildError, SettingsError: A part is missing or wrong; the message names it.
    """
    if checkpointer is not None and store is None and not isinstance(checkpointer, InMemorySaver):
        raise BuildError(
            "a checkpointer without a store would lose results over a restart: pass store=... too; "
            "checkpoints.open_store gives both"
        )
    chosen = Settings.of(settings)
    engine = Engine(
        registry=tools if isinstance(tools, ToolRegistry) else ToolRegistry.of(*tools),
        models=_models(models),
        settings=chosen,
        templates=_templates(chosen),
    )
    compiled = _builder().compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name=name,
    )
    return PlanrailGraph(engine=engine, **compiled.__dict__)


def _templates(settings: Settings) -> TemplateLibrary:
    """All templates there are; one that cannot be used is named in the log, and the others work."""
    library = load_templates(settings.template_folders)
    for problem in library.problems:
        _LOG.warning("template not loaded: %s", problem)
    return library


def _builder() -> Any:
    builder: Any = StateGraph(
        GraphState, context_schema=RunContext, input_schema=GraphInput, output_schema=GraphOutput
    )
    builder.add_node("planner", planner)
    builder.add_node("scheduler", scheduler)
    builder.add_node("approval", approval, input_schema=StepTask)
    builder.add_node("executor", executor, input_schema=StepTask)
    builder.add_node("validator", validator)
    builder.add_node("replanner", replanner)
    builder.add_node("reporter", reporter)
    builder.add_edge(START, "planner")
    builder.add_conditional_edges("planner", after_planner, ["scheduler", "reporter"])
    builder.add_conditional_edges(
        "scheduler", after_scheduler, ["executor", "approval", "replanner", "reporter"]
    )
    builder.add_conditional_edges("executor", after_executor, ["validator", "scheduler"])
    builder.add_edge("approval", "scheduler")
    builder.add_conditional_edges("validator", after_validator, ["scheduler", "replanner"])
    builder.add_conditional_edges("replanner", after_replanner, ["scheduler", "reporter"])
    builder.add_edge("reporter", END)
    return builder


def _models(given: BaseChatModel | Mapping[str, BaseChatModel] | None) -> dict[str, BaseChatModel]:
    if given is None:
        return {}
    if isinstance(given, BaseChatModel):
        return {"default": given}
    models = dict(given)
    for role, model in models.items():
        if role not in ROLES:
            raise BuildError(f"unknown model role {role!r}: roles are {', '.join(ROLES)}")
        if not isinstance(model, BaseChatModel):
            raise BuildError(f"the {role} model is a {type(model).__name__}: give a LangChain chat model")
    if "planner" in models:
        models.setdefault("replanner", models["planner"])
    return models
