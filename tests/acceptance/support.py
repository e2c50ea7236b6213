"""What the acceptance tests share: plans, what documents say of their steps, the graph from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from tests.acceptance.toolbox import Toolbox
from tests.support.models import ScriptedModel, says

DOCUMENT_KEYS = {
    "status", "success", "answer", "reason", "plan", "steps", "effects", "replans", "usage", "pending",
}  # fmt: skip
STEP_KEYS = {
    "id", "action", "status", "attempts", "output", "error", "revision", "started_at", "ended_at",
    "idempotency_key",
}  # fmt: skip


def step(step_id: str, tool: str, args: Mapping[str, object] | None = None, **more: object) -> dict[str, Any]:
    """A tool step."""
    return {"id": step_id, "action": "tool", "tool": tool, "args": dict(args or {}), **more}


def plan(*steps: Mapping[str, Any], goal: str = "try it out") -> dict[str, Any]:
    """A plan of these steps."""
    return {"goal": goal, "steps": [dict(each) for each in steps]}


def write(step_id: str, content: object = "text", *, risk: str = "low", **more: object) -> dict[str, Any]:
    """A step that writes `content` to a file named after the step."""
    return step(step_id, "write_file", {"path": f"{step_id}.md", "content": content}, risk=risk, **more)


GOOD = plan(step("s1", "web_search", {"query": "q"}), write("s2", "${s1.count}"))
"""A plan that runs to its end and asks nobody."""


def by_id(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The step records of an output document by their step's id."""
    rows = document["steps"]
    assert isinstance(rows, list)
    return {row["id"]: row for row in rows}


def statuses(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(row["status"]) for name, row in by_id(document).items()}


def outputs(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row["output"] for name, row in by_id(document).items()}


def waiting_steps(document: Mapping[str, Any]) -> set[str]:
    """The steps that an output document says wait for a person."""
    return {str(entry["step"]) for entry in document["pending"]}


def replans(document: Mapping[str, Any]) -> int:
    """How many times the run was replanned."""
    value = document["replans"]
    return len(value) if isinstance(value, list) else int(value)


def planner(*replies: Any) -> ScriptedModel:
    """A planner whose replies are these texts, or these objects as JSON."""
    return says(*replies)


def build(toolbox: Toolbox | list[Any], **more: Any) -> Any:
    """The graph over a user's tools, as `build_graph` gives it."""
    from graph.build import build_graph

    tools = toolbox.tools() if isinstance(toolbox, Toolbox) else toolbox
    return build_graph(tools=tools, **more)


def stored(toolbox: Toolbox, store: Any, **more: Any) -> Any:
    return build(toolbox, checkpointer=store.checkpointer, store=store.store, **more)


def opened(path: Path) -> Any:
    """The run database as `open_store` gives it: both `with` and `async with` take it."""
    from checkpoints import open_store

    return open_store(str(path))


def given(value: Mapping[str, Any]) -> dict[str, Any]:
    """The graph's input for a plan of the caller's own."""
    return {"goal": value["goal"], "plan": dict(value)}


def thread(name: str = "t1", recursion_limit: int | None = None) -> RunnableConfig:
    """The config that names a run."""
    config: RunnableConfig = {"configurable": {"thread_id": name}}
    if recursion_limit is not None:
        config["recursion_limit"] = recursion_limit
    return config
