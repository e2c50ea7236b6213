"""Random plans as data, the tools and the planner that carry them out, and their drawing."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from hypothesis import strategies as st

from tests.acceptance4.serial import ATTEMPTS, Node, Work, weight
from tests.support.models import ScriptedModel, says
from tools import HardToolError, IdempotencyKey, SoftToolError, policy


class World:
    """The tools; `effects` has what was written, once for each key."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.effects: dict[str, str] = {}
        self._lock = threading.Lock()

    def _work(self, name: str, fail: str, times: int) -> None:
        with self._lock:
            self.calls[name] += 1
            made = self.calls[name]
        if fail == "hard":
            raise HardToolError("refused", f"{name} may not be")
        if fail == "soft" and made <= times:
            raise SoftToolError(f"{name} is busy")

    def tools(self) -> list[Callable[..., Any]]:
        """A lookup and a write that add up what went before."""

        @policy(effect="read", backoff_base=0)
        def num(name: str, base: int, deps: list[Any], fail: str = "", times: int = 0) -> int:
            """Add up."""
            self._work(name, fail, times)
            return base + sum(weight(each) for each in deps)

        @policy(effect="write", idempotent=True, risk="low", backoff_base=0, grounded=frozenset())
        def act(  # noqa: PLR0917 - as the tool's arguments are
            name: str,
            base: int,
            deps: list[Any],
            key: Annotated[str, IdempotencyKey],
            fail: str = "",
            times: int = 0,
        ) -> int:
            """Add up, and note it."""
            self._work(name, fail, times)
            with self._lock:
                self.effects.setdefault(key, name)
            return base + sum(weight(each) for each in deps)

        return [num, act]


# ------------------------------------------------------------------------------------------ as plan data


def _call(name: str, work: Work, deps: Sequence[str]) -> dict[str, Any]:
    args = {"name": name, "base": work.base, "deps": [f"${{{dep}}}" for dep in deps]}
    return {"tool": "act" if work.writes else "num", "args": {**args, "fail": work.fail, "times": work.times}}


def step_of(node: Node) -> dict[str, Any]:
    """A node as a step of a plan."""
    common: dict[str, Any] = {
        "id": node.name,
        "depends_on": list(node.deps),
        "on_dependency_failure": node.policy,
        "optional": node.optional,
        "require_approval": node.asks,
    }
    if node.when is not None:
        common["when"] = f"{node.when[0]} % 2 == {node.when[1]}"
    if node.parts is not None:
        return {**common, "action": "plan", "goal": goal_of(node)}
    if node.items is not None:
        return {**common, **_map_of(node)}
    if node.expect is not None:
        common["expect"] = f"result >= {node.expect}"
    if node.fallback is not None:
        common["fallback"] = _call(f"{node.name}-fb", node.fallback, node.deps)
    work = _call(node.name, node.work, node.deps)
    return {**common, "action": "tool", "max_attempts": ATTEMPTS, **work}


def _map_of(node: Node) -> dict[str, Any]:
    fail = f"${{item % {node.bad} == 0 ? 'hard' : ''}}" if node.bad else ""
    args = {"name": f"{node.name}-${{index}}", "base": "${item}", "deps": [], "fail": fail}
    inner: dict[str, Any] = {"action": "tool", "tool": "act" if node.work.writes else "num", "args": args}
    if node.skipped_index is not None:
        inner["when"] = f"index != {node.skipped_index}"
    if node.fallback is not None:
        inner["fallback"] = _call(f"{node.name}-${{index}}-fb", node.fallback, ())
    more = {} if node.min_success is None else {"min_success": node.min_success}
    return {"action": "map", "over": list(node.items or ()), "step": inner, **more}


def goal_of(node: Node) -> str:
    return f"carry out part <{node.name}>"


def planner_of(nodes: Sequence[Node]) -> ScriptedModel:
    """A planner that knows the plan of each part of these nodes by the part's goal."""
    plans = {
        goal_of(node): [step_of(part) for part in node.parts] for node in nodes if node.parts is not None
    }

    def planned(prompt: str) -> dict[str, Any]:
        (goal,) = [goal for goal in plans if goal in prompt]
        return {"plan": {"steps": plans[goal]}}

    return says(planned)


# --------------------------------------------------------------------------------------------- drawing


def works(*fails: str) -> st.SearchStrategy[Work]:
    return st.builds(
        Work, st.booleans(), st.integers(0, 9), st.sampled_from(fails), st.integers(1, ATTEMPTS + 1)
    )


@st.composite
def plans(draw: st.DrawFn, most: int = 7) -> tuple[Node, ...]:
    """Draw a plan, its steps in an order in which they may be carried out."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, most))):
        nodes.append(_node(draw, f"s{number}", nodes))
    return tuple(nodes)


def _node(draw: st.DrawFn, name: str, before: Sequence[Node]) -> Node:
    names = [node.name for node in before]
    deps = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
    numbers = [
        node.name for node in before if node.name in deps and node.items is None and node.parts is None
    ]
    kind = draw(st.sampled_from(["call"] * 5 + ["map", "map", "part"]))
    common: dict[str, Any] = {
        "deps": tuple(deps),
        "policy": draw(st.sampled_from(["abort", "skip", "degrade", "degrade"])),
        "optional": draw(st.booleans()),
    }
    if numbers and draw(st.integers(0, 2)) == 0:
        common["when"] = (draw(st.sampled_from(numbers)), draw(st.integers(0, 1)))
    fallback = draw(st.none() | works("", "", "hard"))
    if kind == "part":
        parts: list[Node] = []
        for number in range(draw(st.integers(1, 3))):
            inside = (
                draw(st.lists(st.sampled_from([part.name for part in parts]), unique=True)) if parts else []
            )
            # Of its own name, as every step of the plan is: a model's plan may not do a done write again.
            parts.append(Node(f"{name}p{number}", draw(works("")), tuple(inside)))
        return Node(name, Work(writes=False, base=0), parts=tuple(parts), **common)
    if kind == "map":
        items = tuple(draw(st.lists(st.integers(1, 9), max_size=6)))
        return Node(
            name,
            draw(works("")),
            items=items,
            bad=draw(st.sampled_from([0, 2, 3])),
            skipped_index=draw(st.none() | st.integers(0, 5)),
            min_success=draw(st.sampled_from([None, 0, 0.5, 1.0])),
            fallback=fallback,
            asks=draw(st.integers(0, 4)) == 0,
            **common,
        )
    expect = draw(st.none() | st.integers(0, 9))
    work = draw(works("", "", "", "soft", "hard"))
    return Node(name, work, expect=expect, fallback=fallback, asks=draw(st.integers(0, 4)) == 0, **common)
