"""Random plans come out as the serial reference says, however they are scheduled."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st
from langgraph.types import Command

from graph.build import build_graph
from tests.acceptance.support import by_id, opened, statuses, thread, waiting_steps
from tests.acceptance4.random_plans import World, planner_of, plans, step_of
from tests.acceptance4.serial import Node, Outcome, reference

MODES = st.sampled_from([("lanes", 8), ("lanes", 1), ("layered", 8)])


def run(nodes: Sequence[Node], mode: tuple[str, int], world: World) -> tuple[dict[str, Any], set[str]]:
    """Run to the end, approving all; returns the document and who was asked about."""
    value = {"goal": "try", "steps": [step_of(node) for node in nodes]}
    chosen = {"scheduling": mode[0], "max_concurrency": mode[1], "max_replans": 0, "llm_attempts": 1}
    asked: set[str] = set()
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "r.db") as both:
        graph: Any = build_graph(
            tools=world.tools(),
            models={"planner": planner_of(nodes)},
            settings=chosen,
            checkpointer=both.checkpointer,
            store=both.store,
        )
        result: dict[str, Any] = graph.invoke({"goal": "try", "plan": value}, thread())
        for _ in range(3 * len(nodes)):
            if result["status"] != "waiting":
                break
            asked |= waiting_steps(result)
            answers = dict.fromkeys(waiting_steps(result), "approve")
            result = graph.invoke(Command(resume=answers), thread())
    return result, asked


def compare(result: dict[str, Any], expected: Outcome, world: World) -> None:
    """Hold a run against the reference."""
    seen = statuses(result)
    assert set(seen) == set(expected.statuses)
    wrong = {
        name: (seen[name], wanted) for name, wanted in expected.statuses.items() if seen[name] not in wanted
    }
    assert not wrong, wrong
    for name, value in expected.outputs.items():
        output = by_id(result)[name]["output"]
        if isinstance(value, dict) and "failures" in value:
            output = {**output, "failures": [row["index"] for row in output["failures"]]}
        assert output == value, name
    happened, must, may = Counter(world.effects.values()), Counter(expected.effects), Counter(expected.maybe)
    assert must <= happened, "an effect is missing"
    assert happened <= must + may, "an effect too many"
    done = [row for row in result["effects"] if row["status"] == "succeeded"]
    assert len(done) == happened.total(), "the document tells each effect once"


@settings(max_examples=40)
@given(nodes=plans(), mode=MODES)
def test_what_the_serial_reference_says(nodes: tuple[Node, ...], mode: tuple[str, int]) -> None:
    world = World()
    expected = reference(nodes)
    note(str([step_of(node) for node in nodes]))

    result, asked = run(nodes, mode, world)

    compare(result, expected, world)
    not_run = {name for name, wanted in expected.statuses.items() if not wanted & {"succeeded", "failed"}}
    assert not asked & not_run, "a person was asked about what does not run"
    ended = set().union(*expected.statuses.values())
    if ended <= {"succeeded", "not_taken"}:
        assert result["status"] == "succeeded", result["reason"]
        assert not result["reason"] or "item" in result["reason"]
    if all(len(wanted) == 1 for wanted in expected.statuses.values()):
        needed = {node.name for node in nodes if not node.optional}
        lost = {name for name in needed if expected.is_(name, "failed", "cancelled")}
        assert result["success"] is not bool(lost), lost
