"""What a walkthrough is: a template, sample data to run it on, recorded answers where there is no model."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from graph.models import models_from_environment
from graph.plan import JSON, Plan
from graph.plan.templates import load_templates
from tools import ToolRegistry

STANDARD = "standard"
"""The variant that a walkthrough runs as when none is named."""


@dataclass(frozen=True)
class Stage:
    """What a walkthrough plays on.

    `places` says where its parts are, a line each; `aftermath` what the run has left there so far.
    """

    tools: ToolRegistry
    places: tuple[str, ...]
    aftermath: Callable[[], Iterable[str]] = tuple


@dataclass(frozen=True)
class Prelude:
    """A run of its own that comes first, for what a walkthrough shows must have a past.

    `after` changes the stage once it has ended; it is given where the stage's files go.
    """

    about: str
    template: str
    params: Mapping[str, JSON] = field(default_factory=dict)
    after: Callable[[Path], None] = lambda _place: None

    def plan(self) -> Plan:
        """A new plan each time."""
        return load_templates().require(self.template).fill(self.params)


@dataclass(frozen=True)
class Variant:
    """One way in which a walkthrough goes: with which parameters and settings (`KEY=VALUE`).

    `template` is its own, where it has another than the walkthrough. `begin` makes the stage ready for a
    new run, whatever earlier ones have left there.
    """

    about: str
    params: Mapping[str, JSON] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    template: str | None = None
    begin: Callable[[Path], None] = lambda _place: None
    prelude: Prelude | None = None


@dataclass(frozen=True)
class Walkthrough:
    """A shipped example on real parts.

    Attributes:
        name: What `planrail demo NAME` calls it.
        about: What it shows, in a line.
        template: The shipped template that it runs.
        variants: By name; the standard one first.
        stage: Given where its files go, as the beginning of their paths, and the variant, a context in
            which its servers, if it has any, are up. Files that are there already are gone on with.
        answer: The recorded answer to a model's prompt.
        recorded: What is recorded, in words for people.
        roles: The model roles that it needs; `default` stands for those that are not named.
        pace: Seconds that a recorded answer takes.
    """

    name: str
    about: str
    template: str
    variants: Mapping[str, Variant]
    stage: Callable[[Path, str], AbstractContextManager[Stage]]
    answer: Callable[[str], str]
    recorded: str
    roles: tuple[str, ...] = ("default",)
    pace: float = 0.0

    def plan(self, variant: str, given: Mapping[str, JSON] | None = None) -> Plan:
        """A new plan each time, with an id of its own: a second demo is another run of everything.

        Args:
            variant: Its name.
            given: Parameters of the template in the place of the variant's.

        Raises:
            TemplateError: One of them is unknown or does not fit.
        """
        chosen = self.variants[variant]
        params = {**chosen.params, **(given or {})}
        return load_templates().require(chosen.template or self.template).fill(params)

    def models(self) -> dict[str, BaseChatModel]:
        """The environment's models, else the recorded answers."""
        recorded = {role: RecordedModel(answer=self.answer, pace=self.pace) for role in self.roles}
        return models_from_environment() or dict[str, BaseChatModel](recorded)


class RecordedModel(BaseChatModel):
    """A chat model for machines without an endpoint: it answers as a model once did.

    `pace` is how many seconds it takes for that.
    """

    answer: Callable[[str], str]
    pace: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        time.sleep(self.pace)
        return self._answered(messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await asyncio.sleep(self.pace)
        return self._answered(messages)

    def _answered(self, messages: list[BaseMessage]) -> ChatResult:
        prompt = "\n\n".join(str(message.content) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.answer(prompt)))])
