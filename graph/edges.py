"""The edges: pure functions of the state. The nodes decide; these only read the decision."""

from typing import Literal

from langgraph.types import Send

from graph.state import GraphState


def after_planner(state: GraphState) -> Literal["scheduler", "reporter"]:
    """A plan goes to the scheduler; an answer or a refusal needs none."""
    return "scheduler" if state.get("plan") is not None else "reporter"


def after_scheduler(state: GraphState) -> list[Send] | Literal["replanner", "reporter"]:
    """One executor per ready step, one approval per question. A Send carries ids only."""
    dispatch = state["dispatch"]
    alone = set(dispatch["alone"])
    match dispatch["move"]:
        case "execute":
            return [Send("executor", {"step": step}) for step in dispatch["steps"]]
        case "ask":
            return [
                Send("executor", {"step": step, "alone": True})
                if step in alone
                else Send("approval", {"step": step})
                for step in dispatch["steps"]
            ]
        case "replan" | "expand" | "compensate":
            return "replanner"
        case _:
            return "reporter"


def after_executor(state: GraphState) -> Literal["validator", "scheduler"]:
    """A lane's results are validated; a tool's own question ends where the approvals beside it end."""
    return "scheduler" if state["dispatch"]["move"] == "ask" else "validator"


def after_validator(state: GraphState) -> Literal["replanner", "scheduler"]:
    """Another plan when a critical step was lost, else on."""
    return "replanner" if state["dispatch"]["move"] in ("replan", "expand") else "scheduler"


def after_replanner(state: GraphState) -> Literal["scheduler", "reporter"]:
    """A new revision, or work that does not depend on what was lost, goes on; else report."""
    return "reporter" if state["dispatch"]["move"] == "report" else "scheduler"
