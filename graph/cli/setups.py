"""What a later command must know to take up a run: with which tools and settings it was started."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langgraph.store.base import BaseStore
from pydantic import BaseModel, ConfigDict, model_validator

from graph.cli.errors import UsageProblem
from graph.demo import STANDARD, WALKTHROUGHS, Stage
from graph.models import models_from_environment
from graph.state import chosen_config, config_path
from tools import ToolRegistry, load_tools
from tools.load import absolute_spec

_NAMESPACE = ("planrail", "cli", "setups")


class DemoSetup(BaseModel):
    """Which walkthrough a run is; `place` is how the paths of its files begin."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    variant: str
    place: str


class RunSetup(BaseModel):
    """How a run was started, as the command line keeps it beside the run's journal.

    `folder` is where the command was given: modules are looked up there. `config` is the file of settings
    that was in effect, `demo` which walkthrough it is.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tools: str | None = None
    folder: str = ""
    settings: tuple[str, ...] = ()
    config: str | None = None
    demo: DemoSetup | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, stored: Any) -> Any:
        """Read what was kept when there was one demo, known by its shop's database."""
        if not isinstance(stored, dict) or stored.get("shop") is None:
            return stored
        place = str(stored["shop"]).removesuffix("-shop.db")
        return {**stored, "demo": {"name": "complaint", "variant": STANDARD, "place": place}}

    def with_changes(self, tools: str | None, settings: list[str]) -> "RunSetup":
        """This setup with what a later command says anew laid over it."""
        changed: dict[str, object] = {"settings": (*self.settings, *settings)}
        if chosen_config() is not None:
            changed["config"] = config_in_effect()
        return self.model_copy(update={**changed, "tools": absolute(tools)} if tools is not None else changed)


def new_setup(tools: str | None, settings: list[str]) -> RunSetup:
    return RunSetup(
        tools=absolute(tools),
        folder=str(Path.cwd()),
        settings=tuple(settings),
        config=config_in_effect(),
    )


def config_in_effect() -> str | None:
    """The file of settings, such that it is found from another folder too."""
    path = config_path()
    return None if path is None else str(path.resolve())


def absolute(spec: str | None) -> str | None:
    """A tools spec that names a file, such that it still does from another folder."""
    return None if spec is None else absolute_spec(spec)


async def remember(store: BaseStore, run_id: str, setup: RunSetup) -> None:
    """Keep the setup of a run; durable on return."""
    await store.aput(_NAMESPACE, run_id, setup.model_dump(mode="json"), index=False)


async def recall(store: BaseStore, run_id: str) -> RunSetup | None:
    """The setup of a run, or None for a run that was started from Python."""
    item = await store.aget(_NAMESPACE, run_id)
    return None if item is None else RunSetup.model_validate(item.value)


class Equipped(NamedTuple):
    """What a run works with; `stage` is that of a walkthrough."""

    tools: ToolRegistry
    models: dict[str, BaseChatModel]
    stage: Stage | None


@contextmanager
def equipped(setup: RunSetup) -> Iterator[Equipped]:
    """Have what the run works with at hand, a demo's servers too; raises ToolLoadError or UsageProblem."""
    if setup.demo is None:
        yield Equipped(tools_of(setup), models_from_environment(), None)
        return
    chosen = WALKTHROUGHS.get(setup.demo.name)
    if chosen is None or setup.demo.variant not in chosen.variants:
        raise UsageProblem(
            f"this version has no demo {setup.demo.name} ({setup.demo.variant}): start another"
        )
    with chosen.stage(Path(setup.demo.place), setup.demo.variant) as stage:
        yield Equipped(stage.tools, chosen.models(), stage)


def tools_of(setup: RunSetup) -> ToolRegistry:
    """The tools that a run was started with, to be looked at; raises ToolLoadError."""
    if setup.demo is not None:
        with equipped(setup) as found:
            return found.tools
    if setup.tools is None:
        return ToolRegistry.of()
    if setup.folder and setup.folder not in sys.path:
        sys.path.append(setup.folder)
    return load_tools(setup.tools)


def require_setup(setup: RunSetup | None, run_id: str, tools: str | None) -> RunSetup:
    """The setup of a run to go on with; raises UsageProblem when nobody knows its tools."""
    if setup is not None:
        return setup
    if tools is None:
        raise UsageProblem(
            f"run {run_id} was not started from the command line, and its tools are not known: add --tools"
        )
    return RunSetup()
