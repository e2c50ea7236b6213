"""What a graph was built with, and one invocation of it."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import RunControl

from checkpoints import Journal
from graph.plan import PlanrailError, Step, ToolStep
from graph.plan.templates import TemplateLibrary
from graph.state.endpoints import EndpointMemory
from graph.state.settings import Settings, SettingsError
from tools import RegisteredTool, ToolLimits, ToolRegistry

INVOCATION_KEY = "__planrail_invocation"


class NoModelError(PlanrailError):
    """A model role is needed that the graph was built without."""

    code: ClassVar[str] = "no_model"


def model_name(model: BaseChatModel) -> str:
    """The name by which a model is found in the price table."""
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)


def _require_price(role: str, name: str, settings: Settings) -> None:
    if settings.price_of(name) is None:
        raise SettingsError(
            f"a budget of cost needs the price of {name!r}, the {role} model: add it to the setting prices, "
            f'{{"{name}": {{"input": ..., "output": ...}}}} for a million tokens'
        )


@dataclass(frozen=True)
class Engine:
    """What a graph was built with; the same for all its runs."""

    registry: ToolRegistry
    models: Mapping[str, BaseChatModel]
    settings: Settings
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    jitter: Callable[[], float] = random.random
    endpoints: EndpointMemory = field(default_factory=EndpointMemory)
    templates: TemplateLibrary = field(default_factory=TemplateLibrary)
    limits: ToolLimits = field(default_factory=ToolLimits)

    def __post_init__(self) -> None:
        """Refuse a budget that could not be kept and checks without a model; raises SettingsError."""
        if self.settings.validation in ("every", "key") and self.model("validator") is None:
            raise SettingsError(
                f"validation={self.settings.validation} needs a validator model: hand one to "
                "build_graph(models=...), or set validation to off"
            )
        if self.settings.limits_cost:
            for role, model in self.models.items():
                _require_price(role, model_name(model), self.settings)

    def under(self, overrides: Mapping[str, Any]) -> "Engine":
        """This engine with a run's own settings; raises SettingsError."""
        return replace(self, settings=self.settings.overlaid(overrides)) if overrides else self

    def model(self, role: str) -> BaseChatModel | None:
        """The model of a role, or the one given for all roles, or None."""
        return self.models.get(role) or self.models.get("default")

    def require_model(self, role: str) -> BaseChatModel:
        model = self.model(role)
        if model is None:
            raise NoModelError(f"no {role} model: hand one to build_graph(models=...), or set OPENAI_API_KEY")
        return model

    def tool_of(self, step: Step) -> RegisteredTool | None:
        return self.registry.get(step.tool) if isinstance(step, ToolStep) else None

    def tools_of(self, step: Step) -> tuple[RegisteredTool, ...]:
        """The tools a step may call, as far as they are registered."""
        return tuple(self.registry[name] for name in step.own_tools if name in self.registry)


@dataclass
class Invocation:
    """One call of a graph, handed to the nodes in the config.

    `answered` are the steps whose questions this call answers, empty when it goes on with a waiting run
    without an answer, and None when nothing was asked before; `workspace` is the nodes' own, for as
    long as the call lasts.
    """

    engine: Engine
    run_id: str
    journal: Journal
    control: RunControl = field(default_factory=RunControl)
    answered: frozenset[str] | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    workspace: dict[str, Any] = field(default_factory=dict)
    at_end: Callable[[], Awaitable[None]] | None = None

    async def close(self) -> None:
        """Have the nodes write down what they hold in memory only, however the call ends."""
        if self.at_end is not None:
            await self.at_end()
