"""What these tests share: a desk whose tools note each call, and short ways to run a plan on them."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from langgraph.types import Command

from graph.build import build_graph
from graph.plan import check_plan, parse_plan
from tests.acceptance.support import by_id, given, opened, plan, step, thread
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, ToolRegistry, policy

NAMES = [f"n{number}" for number in range(30)]
FAST = {"llm_attempts": 1, "backoff_base": 0}
"""Settings that keep a scripted model from being waited for."""


class Desk:
    """Tools that note what was asked of them; `done` holds what the writes did, once for each key."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.done: list[tuple[str, Any]] = []
        self.keys: list[str] = []
        self._lock = threading.Lock()

    def note(self, tool: str, value: Any) -> int:
        """Note a call and return how often the same was noted, this time included."""
        with self._lock:
            self.calls.append((tool, value))
            return self.calls.count((tool, value))

    def calls_of(self, tool: str) -> list[Any]:
        return [value for name, value in list(self.calls) if name == tool]

    def count(self, tool: str) -> Counter[Any]:
        return Counter(self.calls_of(tool))

    @property
    def effects(self) -> list[Any]:
        return [value for _, value in self.done]

    def _effect(self, tool: str, value: Any, key: str) -> None:
        with self._lock:
            if key not in self.keys:
                self.keys.append(key)
                self.done.append((tool, value))

    def tools(self) -> list[Callable[..., Any]]:
        """The tools of this desk."""

        @policy(effect="read", backoff_base=0)
        def say(value: Any) -> Any:
            """Give back what was given."""
            self.note("say", str(value))
            return value

        @policy(effect="read", backoff_base=0)
        def look(name: Any, bad: list[Any] | None = None) -> dict[str, Any]:
            """Look up a name; those that are bad are not there."""
            self.note("look", name)
            if name in (bad or []):
                raise HardToolError("not_there", f"there is no {name}")
            return {"name": name, "size": len(str(name))}

        @policy(effect="read", backoff_base=0)
        def wobble(name: Any, times: int) -> str:
            """Be busy so many times, then answer."""
            if self.note("wobble", name) <= times:
                raise SoftToolError("busy")
            return f"{name} at last"

        @policy(effect="read", backoff_base=0)
        def grow(name: str) -> int:
            """Give a number that grows with each call."""
            return self.note("grow", name)

        @policy(effect="write", idempotent=True, risk="low", grounded=frozenset())
        def put(value: Any, key: Annotated[str, IdempotencyKey]) -> str:
            """Do something, once for each key."""
            self.note("put", str(value))
            self._effect("put", value, key)
            return f"done {value}"

        @policy(effect="write", idempotent=True, risk="low", grounded=frozenset())
        def refuse(value: Any, key: Annotated[str, IdempotencyKey]) -> str:
            """Refuse to do something."""
            self.note("refuse", str(value))
            raise HardToolError("refused", f"{value} may not be done")

        @policy(effect="write", idempotent=False, risk="low", grounded=frozenset())
        def lose(value: Any) -> str:
            """Do something and lose the line."""
            self.note("lose", str(value))
            raise OutcomeUnknown("the line went dead")

        return [say, look, wobble, grow, put, refuse, lose]


def run(desk: Desk, value: Mapping[str, Any], models: Any = None, **settings: Any) -> dict[str, Any]:
    """Run a plan on a desk to its end, without a database."""
    graph = build_graph(tools=desk.tools(), models=models, settings={**FAST, **settings})
    result: dict[str, Any] = graph.invoke(given(value))
    return result


class Stored:
    """Runs on a database, each invocation with a graph of its own, as separate processes have."""

    def __init__(self, desk: Desk, path: Path, models: Any = None, **settings: Any) -> None:
        self.desk = desk
        self.path = path
        self.models = models
        self.settings = {**FAST, **settings}

    def start(self, value: Mapping[str, Any], name: str = "t1") -> dict[str, Any]:
        return self._invoke(given(value), name)

    def answer(self, answers: Mapping[str, Any], name: str = "t1") -> dict[str, Any]:
        return self._invoke(Command(resume=dict(answers)), name)

    def _invoke(self, what: Any, name: str) -> dict[str, Any]:
        with opened(self.path) as both:
            graph = build_graph(
                tools=self.desk.tools(),
                models=self.models,
                settings=self.settings,
                checkpointer=both.checkpointer,
                store=both.store,
            )
            result: dict[str, Any] = graph.invoke(what, thread(name))
        return result


def problems(value: Mapping[str, Any], desk: Desk | None = None) -> set[str]:
    """The codes of what is wrong with a plan, without running it."""
    parsed, found = parse_plan(value)
    if parsed is None:
        return {problem.code for problem in found}
    return {problem.code for problem in check_plan(parsed, ToolRegistry.of(*(desk or Desk()).tools()))}


def put(step_id: str, value: Any, **more: Any) -> dict[str, Any]:
    """A step that does something once."""
    return step(step_id, "put", {"value": value}, **more)


def say(step_id: str, value: Any, **more: Any) -> dict[str, Any]:
    """A step that gives back a value."""
    return step(step_id, "say", {"value": value}, **more)


def each(step_id: str, over: Any, inner: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A map step."""
    return {"id": step_id, "action": "map", "over": over, "step": dict(inner), **more}


def inner(tool: str, args: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The inner step of a map."""
    return {"action": "tool", "tool": tool, "args": dict(args), **more}


def llm(step_id: str, instruction: str, **more: Any) -> dict[str, Any]:
    """A question to a model."""
    return {"id": step_id, "action": "llm", "instruction": instruction, **more}


def part(step_id: str, goal: str, tools: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """A part of the work that is planned when it is reached."""
    return {"id": step_id, "action": "plan", "goal": goal, "tools": list(tools), **more}


def code(result: Mapping[str, Any], step_id: str) -> str:
    """The code of a step's error."""
    return str(by_id(result)[step_id]["error"]["code"])


__all__ = [
    "Desk", "Stored", "by_id", "code", "each", "given", "inner", "llm", "opened", "part", "plan", "problems",
    "put", "run", "say", "step", "thread",
]  # fmt: skip
