"""Plans with replans, questions, parts and undoing, killed in process at one point after another."""

import asyncio
import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.types import Command, interrupt
from pydantic import Field

from graph.build import build_graph
from graph.intake import RunNotFoundError
from tests.properties.durable import Memory
from tests.properties.world import Fuse
from tools import HardToolError, IdempotencyKey, ToolRegistry, policy

CONFIG: Any = {"configurable": {"thread_id": "run"}}


@dataclass
class Outside:
    """What the tools did, over all processes."""

    fuse: Fuse = field(default_factory=Fuse)
    effects: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def write(self, key: str, what: str) -> None:
        self.fuse.point()
        self.effects[key] = what
        self.fuse.point()


OUTSIDE: ContextVar[Outside] = ContextVar("outside")


@policy(effect="read")
async def look(what: str) -> str:
    """Look something up."""
    OUTSIDE.get().calls.append(what)
    OUTSIDE.get().fuse.point()
    return f"seen {what}"


@policy(effect="read")
async def broken(what: str) -> str:
    """Look for what is not there."""
    OUTSIDE.get().calls.append(what)
    raise HardToolError("not_found", f"there is no {what}")


@policy(effect="write", idempotent=True, risk="low")
async def put(what: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Write."""
    OUTSIDE.get().write(key, what)
    return f"put {what}"


@policy(effect="write", idempotent=True, risk="low")
async def ask_and_put(what: str, key: Annotated[str, IdempotencyKey]) -> str:
    """Write what a person says."""
    said = interrupt({"what": what})
    OUTSIDE.get().write(key, f"{what}: {said}")
    return f"put {said}"


TOOLS = ToolRegistry.of(look, broken, put, ask_and_put)


class Says(BaseChatModel):
    """Says the same every time, and counts."""

    reply: str
    asked: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "says"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(str(messages[-1].content))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=self.reply))])


def _tool(step_id: str, tool: str, what: str, *needs: str, **more: Any) -> dict[str, Any]:
    base = {"id": step_id, "action": "tool", "tool": tool, "args": {"what": what}, "depends_on": list(needs)}
    return base | more


class Sweep:
    """Runs one plan, killed at point N of one of its processes, and answers what it asks."""

    def __init__(self, plan: dict[str, Any], answers: Mapping[str, Any], models: Mapping[str, Says]) -> None:
        self.plan, self.answers, self.models = plan, answers, models
        settings = {"compensate": True, "max_replans": int("replanner" in models)}
        self.graph = build_graph(tools=TOOLS, models=dict(models), settings=settings)
        self.outside, self.durable = Outside(), Memory()

    async def process(self, given: Any, fuse: Fuse) -> dict[str, Any] | None:
        self.outside.fuse = fuse
        OUTSIDE.set(self.outside)
        with self.durable.opened(fuse) as (saver, store):
            graph = self.graph.copy({"checkpointer": saver, "store": store})
            try:
                document: dict[str, Any] = await graph.ainvoke(given, CONFIG)
            except RunNotFoundError:
                return await self.process({"goal": "sweep", "plan": self.plan}, fuse)
            except Exception:
                if not fuse.dead:
                    raise
                return None
        return None if fuse.dead else document

    async def run(self, kill_at: int) -> tuple[dict[str, Any], bool]:
        """The last document, and whether the kill came before the run's end.

        Points are counted on over all processes of the run, so that its answers are killed too.
        """
        fuse, killed = Fuse(kill_at), False
        document = await self.process(None, fuse)
        for _ in range(50):
            if fuse.dead:
                fuse, killed = Fuse(), True
            if document is None:
                document = await self.process(None, fuse)
            elif document["pending"]:
                step = min(item["step"] for item in document["pending"])
                document = await self.process(Command(resume={step: self.answers[step]}), fuse)
            else:
                return document, killed
        raise AssertionError(document)


def _swept(
    plan: list[dict[str, Any]],
    answers: Mapping[str, Any],
    replan: Any = None,
    *,
    part: Any = None,
    stride: int = 1,
) -> list[Sweep]:
    """Kill the plan's run at each `stride`-th point; it always ends like the one that was never killed."""
    wanted, sweeps, kill_at, killed = _outcome(plan, answers, replan, part, kill_at=-1)[0], [], 1, True
    while killed:
        outcome, killed, sweep = _outcome(plan, answers, replan, part, kill_at=kill_at)
        assert outcome == wanted, f"killed at point {kill_at}"
        sweeps.append(sweep)
        kill_at += stride
    assert kill_at > 50
    return sweeps


def _outcome(
    plan: list[dict[str, Any]], answers: Mapping[str, Any], replan: Any, part: Any, *, kill_at: int
) -> tuple[dict[str, Any], bool, Sweep]:
    replies = {"replanner": replan, "planner": part}
    models = {role: Says(reply=json.dumps(reply)) for role, reply in replies.items() if reply}
    sweep = Sweep({"goal": "sweep", "steps": plan}, answers, models)
    document, killed = asyncio.run(sweep.run(kill_at))
    steps = {row["id"]: (row["status"], row["output"], row["revision"]) for row in document["steps"]}
    effects = sorted(sweep.outside.effects.values())
    told = {name: document[name] for name in ("status", "answer", "reason", "replans")}
    return {**told, "steps": steps, "effects": effects}, killed, sweep


def test_a_replanned_run_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        _tool("a", "look", "a"),
        _tool("b", "broken", "b", "a"),
        _tool("c", "put", "${b}", "b"),
        _tool("d", "put", "d"),
    ]
    replan = {"steps": [_tool("b", "look", "another b", "a"), _tool("c", "put", "${b}", "b")]}

    sweeps = _swept(plan, {}, replan)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["d", "seen another b"]
        assert sweep.outside.calls.count("b") <= 2


def test_a_run_with_approvals_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        _tool("a", "look", "a"),
        _tool("b", "put", "${a}", require_approval=True),
        _tool("c", "put", "${a} again", require_approval=True),
        _tool("d", "put", "${b}", require_approval=True),
        _tool("e", "put", "e", "c", on_dependency_failure="skip"),
    ]
    answers = {
        "b": {"decision": "edit", "args": {"what": "edited"}},
        "c": {"decision": "reject", "reason": "no"},
        "d": "approve",
    }

    sweeps = _swept(plan, answers, stride=3)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["edited", "put edited"]


def test_a_run_whose_tool_asks_by_itself_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        _tool("a", "look", "a"),
        _tool("b", "ask_and_put", "${a}"),
        _tool("c", "put", "c", require_approval=True),
        _tool("d", "put", "${b}", "c"),
    ]

    sweeps = _swept(plan, {"b": "yes", "c": "approve"}, stride=2)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["c", "put yes", "seen a: yes"]


def test_a_run_with_branches_and_fallbacks_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        _tool("a", "look", "a"),
        _tool("no", "put", "never", when="a == 'seen x'"),
        _tool("yes", "put", "${a}", when="a == 'seen a'", require_approval=True),
        _tool("fall", "broken", "c", "a", fallback={"tool": "put", "args": {"what": "instead"}}),
        _tool(
            "odd",
            "put",
            "odd",
            "a",
            expect="result == 'else'",
            fallback={"tool": "look", "args": {"what": "o"}},
        ),
        _tool("lost", "broken", "d", "yes"),
    ]
    replan = {"steps": [_tool("join", "put", "${yes}, ${no}, ${fall}, ${odd}")]}

    sweeps = _swept(plan, {"yes": "approve"}, replan, stride=2)

    joined = "put seen a, null, put instead, seen o"
    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["instead", "odd", joined, "seen a"]


def _undone_by(what: str) -> dict[str, Any]:
    return {"compensate": {"tool": "put", "args": {"what": what}}}


def test_a_run_with_parts_that_is_undone_at_last_ends_the_same_wherever_it_is_killed() -> None:
    inner = {"action": "tool", "tool": "put", "args": {"what": "${item}"}, "when": "index < 2"}
    plan = [
        _tool("a", "put", "a", **_undone_by("no ${result}")),
        {"id": "p", "action": "plan", "goal": "go on with ${a}"},
        {"id": "q", "action": "plan", "goal": "go on beside it", "depends_on": ["a"]},
        {
            "id": "m",
            "action": "map",
            "over": ["m0", "${p}", "m2"],
            "step": inner | _undone_by("no ${item}"),
            "depends_on": ["p"],
        },
        _tool("lost", "broken", "lost", "m", "q"),
    ]
    part = {
        "steps": [
            _tool("b", "put", "b", require_approval=True, **_undone_by("no ${result}")),
            _tool("c", "broken", "c", "b", fallback={"tool": "look", "args": {"what": "instead of ${b}"}}),
        ]
    }

    sweeps = _swept(plan, {"p.b": "approve", "q.b": "approve"}, part=part, stride=3)

    seen = "seen instead of put b"
    for sweep in sweeps:
        did = list(sweep.outside.effects.values())
        assert sorted(did[:5]) == ["a", "b", "b", "m0", seen]
        assert sorted(did[5:]) == ["no m0", "no put a", "no put b", "no put b", f"no {seen}"]
        assert did[-1] == "no put a"
        assert len(sweep.models["planner"].asked) in (2, 3)
