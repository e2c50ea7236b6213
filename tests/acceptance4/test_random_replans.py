"""Random plans that another plan mends: it gives all steps once more, and nothing is done twice."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.build import build_graph
from tests.acceptance.support import outputs, planner, replans, statuses
from tests.acceptance4.random_plans import World, plans, step_of
from tests.acceptance4.serial import Node, reference

MODES = st.sampled_from([("lanes", 8), ("lanes", 1), ("layered", 8)])


def plain(nodes: Sequence[Node]) -> list[Node]:
    """The same, but each failure asks for another plan, and no call that was answered has failed."""
    return [
        dataclasses.replace(
            node,
            parts=None,
            optional=False,
            asks=False,
            expect=None,
            policy="abort",
            items=None if node.parts else node.items,
        )
        for node in nodes
    ]


def mended(nodes: Sequence[Node]) -> list[Node]:
    """The same with all that fails made to succeed."""
    return [
        dataclasses.replace(
            node,
            work=dataclasses.replace(node.work, fail=""),
            fallback=None,
            expect=None,
            bad=0,
        )
        if "failed" in status
        else node
        for node, status in ((node, reference(nodes).statuses[node.name]) for node in nodes)
    ]


def all_mended(nodes: Sequence[Node]) -> list[Node]:
    """Mended until nothing fails any more."""
    now = list(nodes)
    while any("failed" in status for status in reference(now).statuses.values()):
        now = mended(now)
    return now


@settings(max_examples=40)
@given(nodes=plans(), mode=MODES)
def test_what_is_done_is_not_done_again_by_another_plan(
    nodes: tuple[Node, ...], mode: tuple[str, int]
) -> None:
    first = plain(nodes)
    second = all_mended(first)
    fails = any("failed" in status for status in reference(first).statuses.values())
    world = World()
    graph = build_graph(
        tools=world.tools(),
        models=planner({"plan": {"steps": [step_of(node) for node in second]}}),
        settings={"scheduling": mode[0], "max_concurrency": mode[1], "max_replans": 1, "llm_attempts": 1},
    )

    result = graph.invoke(
        {"goal": "try", "plan": {"goal": "try", "steps": [step_of(node) for node in first]}}
    )

    assert replans(result) == int(fails)
    assert result["status"] == "succeeded", result["reason"]
    expected = reference(second)
    for name, wanted in expected.statuses.items():
        assert statuses(result)[name] in wanted
    for name, value in expected.outputs.items():
        if not isinstance(value, dict):
            assert outputs(result)[name] == value
    happened = Counter(world.effects.values())
    once = {name.removesuffix("-fb") for name in happened}
    assert set(expected.effects) <= set(happened)
    assert max(happened.values(), default=1) == 1, happened
    assert once <= {
        name.removesuffix("-fb")
        for name in (*expected.effects, *reference(first).effects, *reference(first).maybe)
    }
