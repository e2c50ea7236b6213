"""A session to ask with, as the nodes have one."""

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.store.memory import InMemoryStore

from checkpoints import Journal
from graph.state import Engine, Invocation, Settings
from nodes.ledger import Spent
from nodes.models import Ask
from nodes.session import RunSession
from tools import ToolRegistry


async def no_wait(_seconds: float) -> None:
    """Pass the time of a backoff."""


class Waits:
    """Backoffs that pass at once and are written down."""

    def __init__(self) -> None:
        """Begin with none."""
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Pass at once."""
        self.seconds.append(seconds)


def session_of(
    model: BaseChatModel, settings: Mapping[str, Any] | None = None, waits: Waits | None = None
) -> RunSession:
    engine = Engine(
        registry=ToolRegistry.of(),
        models={"default": model},
        settings=Settings.of(settings),
        sleep=waits or no_wait,
        jitter=lambda: 0.0,
    )
    invocation = Invocation(engine=engine, run_id="r", journal=Journal(InMemoryStore(), "r"))
    return RunSession(invocation, None)


def ask_of(session: RunSession, **more: Any) -> Ask:
    settings = session.settings
    given = {"timeout": settings.llm_timeout, "attempts": settings.llm_attempts, **more}
    return Ask(session.engine.require_model("default"), Spent(), **given)
