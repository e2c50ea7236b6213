"""The checkpointer: LangGraph's saver behaviour, sync and async, from any number of event loops."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from checkpoints import OpenedStore, open_store
from checkpoints.saver import RunSaver
from tests.checkpoints.support import checkpoint


def thread(thread_id: str = "t", namespace: str = "", **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, **more}}


def ids(found: Any) -> list[str]:
    return [each.checkpoint["id"] for each in found]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenedStore]:
    with open_store(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def saver(opened: OpenedStore) -> RunSaver:
    return opened.checkpointer


def chain(saver: RunSaver, length: int, thread_id: str = "t") -> list[str]:
    config = thread(thread_id)
    made = []
    for number in range(length):
        each = checkpoint(n=number)
        config = saver.put(config, each, {"source": "loop", "step": number}, {})
        made.append(each["id"])
    return made


def test_a_checkpoint_comes_back_with_parent_metadata_and_writes(saver: RunSaver) -> None:
    first, second = chain(saver, 2)
    saver.put_writes(thread(checkpoint_id=second), [("a", {"x": [1, 2.0]}), ("b", None)], "task-1", "path")
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"n": 1}
    assert found.metadata["step"] == 1
    assert found.parent_config == thread(checkpoint_id=first)
    assert found.pending_writes == [("task-1", "a", {"x": [1, 2.0]}), ("task-1", "b", None)]
    assert saver.get(thread(checkpoint_id=first)) is not None
    assert saver.get_tuple(thread("other")) is None


async def test_the_async_methods_do_the_same(saver: RunSaver) -> None:
    config = await saver.aput(thread(), checkpoint(n=0), {"source": "loop", "step": 0}, {})
    await saver.aput_writes(config, [("a", 1)], "task-1")
    found = await saver.aget_tuple(thread())
    assert found == saver.get_tuple(thread())
    assert [each async for each in saver.alist(thread())] == [found]
    await saver.acopy_thread("t", "copy")
    copied = await saver.aget_tuple(thread("copy"))
    assert copied is not None
    assert copied.pending_writes == [("task-1", "a", 1)]
    await saver.adelete_thread("t")
    assert await saver.aget_tuple(thread()) is None
    assert await saver.aget_tuple(thread("copy")) is not None


def test_a_list_is_newest_first_and_can_be_cut_filtered_and_continued(saver: RunSaver) -> None:
    made = chain(saver, 5)
    chain(saver, 2, "other")
    assert ids(saver.list(thread())) == made[::-1]
    assert ids(saver.list(thread(), limit=2)) == made[:2:-1]
    assert ids(saver.list(thread(), limit=0)) == []
    assert ids(saver.list(thread(), before=thread(checkpoint_id=made[2]))) == made[1::-1]
    assert ids(saver.list(thread(), filter={"step": 3})) == [made[3]]
    assert len(ids(saver.list(None))) == 7


def test_an_open_listing_does_not_keep_others_from_writing(saver: RunSaver) -> None:
    made = chain(saver, 3)
    listing = saver.list(thread())
    assert next(listing).checkpoint["id"] == made[2]
    saver.delete_thread("t")
    chain(saver, 1)
    assert ids(listing) == []


@pytest.mark.parametrize("limit", ["1; drop table checkpoints", -1, 1.5, True])
def test_a_limit_that_is_no_count_is_refused(saver: RunSaver, limit: Any) -> None:
    chain(saver, 2)
    with pytest.raises(ValueError, match="give a whole number"):
        next(saver.list(thread(), limit=limit))
    assert len(ids(saver.list(thread()))) == 2


def test_a_filter_key_with_sql_in_it_is_refused(saver: RunSaver) -> None:
    chain(saver, 1)
    with pytest.raises(ValueError, match="Invalid filter key"):
        next(saver.list(thread(), filter={"x') OR '1'='1": 1}))


@pytest.mark.parametrize("thread_id", ["x' OR '1'='1", "%", "_", "a\nb", "t" * 10_000, "a\x00b", ""])
def test_any_thread_id_finds_and_deletes_only_its_own(saver: RunSaver, thread_id: str) -> None:
    chain(saver, 1, "mine")
    assert saver.get_tuple(thread(thread_id)) is None
    assert ids(saver.list(thread(thread_id))) == []
    made = chain(saver, 2, thread_id)
    assert ids(saver.list(thread(thread_id))) == made[::-1]
    saver.prune([thread_id])
    assert ids(saver.list(thread(thread_id))) == made[1:]
    saver.delete_thread(thread_id)
    assert ids(saver.list(thread(thread_id))) == []
    assert len(ids(saver.list(thread("mine")))) == 1


def test_the_history_of_a_channel_follows_the_parents(saver: RunSaver) -> None:
    config = thread()
    for number in range(3):
        values = {"log": ["seed"]} if number == 0 else {}
        config = saver.put(config, checkpoint(**values), {}, {})
        saver.put_writes(config, [("log", number)], f"task-{number}")
    newest = saver.put(config, checkpoint(), {}, {})
    history = saver.get_delta_channel_history(config=newest, channels=["log", "none"])
    assert history["log"].get("seed") == ["seed"]
    assert [write[2] for write in history["log"]["writes"]] == [0, 1, 2]
    assert history["none"]["writes"] == []
    assert asyncio.run(saver.aget_delta_channel_history(config=newest, channels=["log", "none"])) == history


def test_pruning_keeps_the_newest_with_its_writes_in_each_namespace(saver: RunSaver) -> None:
    made = chain(saver, 3)
    other = saver.put(thread(namespace="child:1"), checkpoint(), {}, {})
    for checkpoint_id in made:
        saver.put_writes(thread(checkpoint_id=checkpoint_id), [("a", checkpoint_id)], "task")
    saver.prune(["t"])
    assert sorted(ids(saver.list({"configurable": {"thread_id": "t"}}))) == sorted(
        [made[2], other["configurable"]["checkpoint_id"]]
    )
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.pending_writes == [("task", "a", made[2])]
    saver.prune(["t"], strategy="delete")
    assert ids(saver.list(None)) == []


def test_pruning_leaves_a_thread_alone_whose_newest_checkpoint_needs_the_older_ones(saver: RunSaver) -> None:
    config = saver.put(thread(), checkpoint(log=[]), {}, {})
    saver.put(config, checkpoint(), {"counters_since_delta_snapshot": {"log": (1, 1)}}, {})
    saver.prune(["t"])
    assert len(ids(saver.list(thread()))) == 2


def test_an_unknown_way_to_prune_is_refused(saver: RunSaver) -> None:
    with pytest.raises(ValueError, match="give 'keep_latest' or 'delete'"):
        saver.prune(["t"], strategy="all")


def test_checkpoints_of_a_langgraph_run_can_be_deleted(saver: RunSaver) -> None:
    for run_id in ("r1", "r2", "r' OR '1'='1"):
        saver.put_writes(saver.put(thread(), checkpoint(), {"run_id": run_id}, {}), [("a", 1)], "task")
    saver.delete_for_runs(["r1", "r' OR '1'='1", "none"])
    assert [each.metadata["run_id"] for each in saver.list(thread())] == ["r2"]


class State(TypedDict, total=False):
    answers: list[str]
    ran: int


def asking_graph(opened: OpenedStore) -> Any:
    async def ask(state: State) -> State:
        answer = interrupt({"question": "go on?"})
        return {"answers": [*state.get("answers", []), answer]}

    graph = StateGraph(State)
    graph.add_node("count", lambda state: {"ran": state.get("ran", 0) + 1})
    graph.add_node("ask", ask)
    graph.add_edge(START, "count")
    graph.add_edge("count", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=opened.checkpointer, store=opened.store)


def test_a_run_that_paused_in_one_event_loop_goes_on_in_another(opened: OpenedStore) -> None:
    graph = asking_graph(opened)
    paused = asyncio.run(graph.ainvoke({}, thread()))
    assert paused["__interrupt__"][0].value == {"question": "go on?"}
    done = asyncio.run(graph.ainvoke(Command(resume="yes"), thread()))
    assert done == {"answers": ["yes"], "ran": 1}
    assert len(list(graph.get_state_history(thread()))) == 4


def test_a_run_goes_on_after_the_file_was_closed_and_opened_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        asyncio.run(asking_graph(opened).ainvoke({}, thread()))
    with open_store(tmp_path / "runs.db") as opened:
        assert asyncio.run(asking_graph(opened).ainvoke(Command(resume="yes"), thread()))["ran"] == 1


async def test_runs_in_several_loops_at_once_do_not_mix(opened: OpenedStore) -> None:
    graph = asking_graph(opened)

    async def both(name: str) -> Any:
        await graph.ainvoke({}, thread(name))
        return await graph.ainvoke(Command(resume=name), thread(name))

    names = [f"thread-{n}" for n in range(8)]
    done = await asyncio.gather(*(asyncio.to_thread(asyncio.run, both(name)) for name in names))
    assert [each["answers"] for each in done] == [[name] for name in names]
