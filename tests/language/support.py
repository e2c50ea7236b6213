"""An office whose tools do as they are told, and runs of it on a SQLite file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from langgraph.types import Command

from checkpoints import Journal, StepEntry, open_store
from graph.build import build_graph
from graph.running import PlanrailGraph
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, ToolRegistry, policy

Json = dict[str, Any]
Does = Callable[[], Any]
RUN: Any = {"configurable": {"thread_id": "run"}}


def gives(value: Any) -> Does:
    return lambda: value


def breaks(code: str = "gone") -> Does:
    def tool() -> Any:
        raise HardToolError(code, f"it is {code}")

    return tool


def stays_busy() -> Any:
    raise SoftToolError("it is busy")


def gets_lost() -> Any:
    raise OutcomeUnknown("the line went dead")


@dataclass
class Office:
    """Tools `look` and `ask` read, `send` and `post` write.

    `does` says by `TOOL` or `TOOL:OF` what comes of a call, or of each call in turn.
    """

    does: dict[str, Does | list[Does]] = field(default_factory=dict)
    calls: list[tuple[str, Json]] = field(default_factory=list)

    def did(self, tool: str) -> list[Any]:
        return [args["of"] for name, args in self.calls if name == tool]

    def _act(self, tool: str, **args: Any) -> Any:
        self.calls.append((tool, args))
        told = self.does.get(f"{tool}:{args['of']}", self.does.get(tool, gives({"of": args["of"]})))
        if isinstance(told, list):
            told = told[min(len(self.did(tool)), len(told)) - 1]
        return told()

    def tools(self, **policies: Json) -> ToolRegistry:
        @policy(**{"effect": "read", "backoff_base": 0, **policies.get("look", {})})
        async def look(of: Any) -> Any:
            """Look something up."""
            return self._act("look", of=of)

        @policy(effect="read", backoff_base=0)
        async def ask(of: Any) -> Any:
            """Ask somebody else."""
            return self._act("ask", of=of)

        @policy(**{"effect": "write", "risk": "low", "backoff_base": 0, **policies.get("send", {})})
        async def send(of: Any) -> Any:
            """Send something, once."""
            return self._act("send", of=of)

        @policy(
            **{
                "effect": "write",
                "idempotent": True,
                "risk": "low",
                "backoff_base": 0,
                **policies.get("post", {}),
            }
        )
        async def post(of: Any, key: Annotated[str, IdempotencyKey]) -> Any:
            """Post something under a key."""
            return self._act("post", of=of, key=key)

        return ToolRegistry.of(look, ask, send, post)


@dataclass
class Desk:
    """One run in one file, by one process after the other."""

    path: Path
    office: Office
    models: Any = None
    policies: dict[str, Json] = field(default_factory=dict)
    settings: Json = field(default_factory=dict)

    @contextmanager
    def graph(self) -> Iterator[PlanrailGraph]:
        with open_store(self.path) as opened:
            yield build_graph(
                tools=self.office.tools(**self.policies),
                models=self.models,
                settings={"backoff_base": 0, **self.settings},
                checkpointer=opened.checkpointer,
                store=opened.store,
            )

    async def run(self, *steps: Json, **more: Any) -> Json:
        with self.graph() as graph:
            plan = {"goal": "do it", "steps": list(steps), **more}
            return await graph.ainvoke({"goal": "do it", "plan": plan}, RUN)

    async def resume(self, answers: Json | None = None) -> Json:
        with self.graph() as graph:
            return await graph.ainvoke(None if answers is None else Command(resume=answers), RUN)

    async def entries(self) -> dict[str, StepEntry]:
        with open_store(self.path) as opened:
            return dict((await Journal(opened.store, "run").load()).steps)


def step(step_id: str, tool: str, of: Any = None, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": tool, "args": {"of": of or step_id}, **more}


def statuses(document: Json) -> dict[str, str]:
    return {row["id"]: row["status"] for row in document["steps"]}


def row(document: Json, step_id: str) -> Json:
    return next(each for each in document["steps"] if each["id"] == step_id)


def code(document: Json, step_id: str) -> str | None:
    error = row(document, step_id)["error"]
    return None if error is None else str(error["code"])
