"""What LangGraph stores comes back the same under its strict setting, with nothing to warn about."""

import pytest

from tests.checkpoints.support import python

ROUND_TRIP = """
    import asyncio, logging, os, warnings
    from datetime import UTC, datetime
    warnings.simplefilter("error")
    said = []
    class Handler(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())
    logging.getLogger().addHandler(Handler(level=logging.WARNING))
    from langgraph.types import Command, Interrupt, Send
    from checkpoints import open_store
    from tests.checkpoints.support import checkpoint
    values = {
        "plain": {"a": [1, 2.5, True, None, "步骤", 2**60, -(2**63)], "b": {"": {}}},
        "empty": [], "bytes": b"x", "when": datetime(2026, 3, 1, tzinfo=UTC),
        "deep": {"x": [[[[{"y": [1.0, 1]}]]]]},
    }
    control = [
        Send("executor", {"ids": ["s1"]}), Interrupt(value={"q": "?"}, id="i1"),
        Command(resume={"s1": {"decision": "approve"}}), Command(goto=[Send("n", {"a": 1})], update={"a": 1}),
    ]
    thread = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async def main(saver):
        config = await saver.aput(thread, checkpoint(**values), {"source": "loop"}, {})
        await saver.aput_writes(config, [(f"c{n}", each) for n, each in enumerate(control)], "task")
        found = await saver.aget_tuple(thread)
        assert repr(found.checkpoint["channel_values"]) == repr(values), found.checkpoint["channel_values"]
        back = [value for _, _, value in found.pending_writes]
        assert repr(back) == repr(control), back
        assert [type(each) for each in back] == [type(each) for each in control]
    with open_store(sys.argv[1]) as opened:
        asyncio.run(main(opened.checkpointer))
        asyncio.run(main(opened.checkpointer.with_allowlist({("some.module", "Thing")})))
    print(said)
"""


@pytest.mark.parametrize("strict", ["true", "false"])
def test_plain_data_and_langgraphs_own_types_come_back_without_a_warning(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, strict: str
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", strict)
    assert python(ROUND_TRIP, tmp_path_factory.mktemp("strict") / "runs.db") == "[]\n"


ALLOWED = """
    import asyncio, os
    from enum import Enum
    from langgraph.graph import END, START, StateGraph
    from typing import TypedDict
    from checkpoints import open_store
    class Colour(Enum):
        RED = "red"
    class State(TypedDict, total=False):
        colour: Colour
    graph = StateGraph(State)
    graph.add_node("paint", lambda state: {"colour": Colour.RED})
    graph.add_edge(START, "paint")
    graph.add_edge("paint", END)
    thread = {"configurable": {"thread_id": "t"}}
    with open_store(sys.argv[1]) as opened:
        compiled = graph.compile(checkpointer=opened.checkpointer)
        compiled.invoke({}, thread)
        print(compiled.get_state(thread).values)
"""


def test_types_that_a_graph_declares_come_back_under_the_strict_setting(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    printed = python(ALLOWED, tmp_path_factory.mktemp("strict") / "runs.db")
    assert printed == "{'colour': <Colour.RED: 'red'>}\n"
