"""Inside another graph, a node function, or a chain, a plan runs, asks and resumes as it does alone."""

from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy

from checkpoints import StoreUnavailableError, find_run
from graph.build import build_graph
from tests.graph.office import CHAIN, FIND_AND_PAY, Office, limited, plan, step, thread

Parent = CompiledStateGraph[Any, Any, Any, Any]


class ParentState(TypedDict, total=False):
    goal: str
    plan: Any
    status: str
    answer: str
    pending: list[Any]
    note: str


@pytest.fixture
def office() -> Office:
    return Office()


def prepare(state: ParentState) -> ParentState:
    return {"goal": "settle", "note": "the parent's own"}


def conclude(state: ParentState) -> ParentState:
    return {"note": f"{state['status']}: {state['answer']}"}


def as_subgraph(office: Office, saver: InMemorySaver | None = None, store: BaseStore | None = None) -> Parent:
    builder = StateGraph(ParentState)
    builder.add_node("prepare", prepare)
    builder.add_node("run_plan", build_graph(tools=office.tools()))
    builder.add_node("conclude", conclude)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "run_plan")
    builder.add_edge("run_plan", "conclude")
    builder.add_edge("conclude", END)
    return builder.compile(checkpointer=saver or InMemorySaver(), store=store)


def in_a_function(office: Office, *, asynchronous: bool) -> Parent:
    graph = build_graph(tools=office.tools())

    async def run_plan(state: ParentState) -> ParentState:
        result = await graph.ainvoke({"plan": state["plan"]})
        return {"status": result["status"]}

    def run_plan_sync(state: ParentState) -> ParentState:
        return {"status": graph.invoke({"plan": state["plan"]})["status"]}

    builder = StateGraph(ParentState)
    builder.add_node("run_plan", run_plan if asynchronous else run_plan_sync)
    builder.add_edge(START, "run_plan")
    return builder.compile(checkpointer=InMemorySaver())


def asked(result: dict[str, Any]) -> list[str]:
    return sorted(interrupt.value["step"] for interrupt in result.get("__interrupt__", ()))


@pytest.mark.parametrize("answer", [{"pay": {"decision": "approve"}}, {"pay": "approve"}, "approve"])
async def test_an_approval_inside_a_subgraph_stops_the_parent_and_resumes(
    office: Office, answer: Any
) -> None:
    parent = as_subgraph(office)

    waiting = await parent.ainvoke({"plan": FIND_AND_PAY}, thread())
    assert asked(waiting) == ["pay"]
    assert waiting["__interrupt__"][0].value["args"] == {"amount": 40}
    assert office.paid == []

    done = await parent.ainvoke(Command(resume=answer), thread())
    assert done["note"] == "succeeded: 40"
    assert (office.found, office.paid) == (["A1"], [40])


def test_a_parent_called_without_a_loop_does_the_same(office: Office) -> None:
    parent = as_subgraph(office)

    assert asked(parent.invoke({"plan": FIND_AND_PAY}, thread())) == ["pay"]
    assert parent.invoke(Command(resume={"approved": True}), thread())["note"] == "succeeded: 40"
    assert office.paid == [40]


async def test_a_parent_runs_one_plan_after_another_on_its_thread(office: Office) -> None:
    parent = as_subgraph(office)

    for count in (1, 2):
        assert asked(await parent.ainvoke({"plan": FIND_AND_PAY}, thread())) == ["pay"]
        done = await parent.ainvoke(Command(resume="approve"), thread())
        assert done["status"] == "succeeded"
        assert office.paid == [40] * count


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("maybe", "'maybe' is no answer for pay"),
        ({"other": "approve"}, "no such pending approval: 'other'"),
        ({"pay": {"decision": "edit", "args": {"amount": "lots"}}}, "the new arguments of pay do not fit"),
    ],
)
async def test_a_bad_answer_inside_a_subgraph_leaves_the_question_open_and_says_why(
    office: Office, answer: Any, said: str
) -> None:
    parent = as_subgraph(office)
    await parent.ainvoke({"plan": FIND_AND_PAY}, thread())

    again = await parent.ainvoke(Command(resume=answer), thread())
    assert asked(again) == ["pay"]
    assert said in again["__interrupt__"][0].value["error"]
    assert office.paid == []

    done = await parent.ainvoke(
        Command(resume={"pay": {"decision": "edit", "args": {"amount": 5}}}), thread()
    )
    assert done["status"] == "succeeded"
    assert office.paid == [5]


async def test_two_approvals_inside_a_subgraph_are_answered_one_by_one(office: Office) -> None:
    parent = as_subgraph(office)
    both = plan(step("a", "pay", {"amount": 1}), step("b", "pay", {"amount": 2}))

    waiting = await parent.ainvoke({"plan": both}, thread())
    ids = {interrupt.value["step"]: interrupt.id for interrupt in waiting["__interrupt__"]}
    one_left = await parent.ainvoke(Command(resume={ids["b"]: "approve"}), thread())
    assert asked(one_left) == ["a"]

    done = await parent.ainvoke(Command(resume="approve"), thread())
    assert done["status"] == "succeeded"
    assert sorted(office.paid) == [1, 2]


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_plan_run_by_a_node_function_stops_the_parent_too(office: Office, asynchronous: bool) -> None:
    parent = in_a_function(office, asynchronous=asynchronous)

    assert asked(await parent.ainvoke({"plan": FIND_AND_PAY}, thread())) == ["pay"]
    assert (await parent.ainvoke(Command(resume="approve"), thread()))["status"] == "succeeded"
    assert (office.found, office.paid) == (["A1"], [40])


def with_node(run_plans: Any, **node: Any) -> Parent:
    builder = StateGraph(ParentState)
    builder.add_node("run_plans", run_plans, **node)
    builder.add_edge(START, "run_plans")
    return builder.compile(checkpointer=InMemorySaver())


async def test_one_node_may_run_several_plans_even_the_same_one_twice(office: Office) -> None:
    graph = build_graph(tools=office.tools())
    plans = [FIND_AND_PAY, FIND_AND_PAY, plan(step("pay", "pay", {"amount": 3}))]

    async def run_plans(state: ParentState) -> ParentState:
        answers = [(await graph.ainvoke({"plan": each}))["answer"] for each in plans]
        return {"note": ", ".join(answers)}

    parent = with_node(run_plans)
    shown = [(await parent.ainvoke({"goal": "all"}, thread()))["__interrupt__"][0].value["args"]]
    for _ in plans:
        result = await parent.ainvoke(Command(resume="approve"), thread())
        shown += [each.value["args"] for each in result.get("__interrupt__", ())]

    assert shown == [{"amount": 40}, {"amount": 40}, {"amount": 3}]
    assert result["note"] == "40, 40, 3"
    assert office.paid == [40, 40, 3]


async def test_a_retry_of_the_parents_node_repeats_no_write(office: Office) -> None:
    graph = build_graph(tools=office.tools())
    tries = []

    async def run_plans(state: ParentState) -> ParentState:
        for text in ("first", "second"):
            await graph.ainvoke({"plan": plan(step("log", "log", {"text": text}))})
        tries.append(len(office.logged))
        if len(tries) == 1:
            raise ConnectionError("the parent's own trouble")
        return {"note": "done"}

    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, jitter=False)
    result = await with_node(run_plans, retry_policy=retry).ainvoke({"goal": "log"}, thread())

    assert result["note"] == "done"
    assert tries == [2, 2]
    assert office.logged == ["first", "second"]


async def test_a_plan_with_a_thread_of_its_own_is_a_run_of_its_own(office: Office) -> None:
    graph = build_graph(tools=office.tools(), checkpointer=InMemorySaver())

    async def run_plans(state: ParentState) -> ParentState:
        return {"status": (await graph.ainvoke({"plan": FIND_AND_PAY}, thread("its own")))["status"]}

    result = await with_node(run_plans).ainvoke({"goal": "pay"}, thread("the parent's"))
    run = await find_run(graph.memory, "its own")

    assert "__interrupt__" not in result
    assert result["status"] == "waiting"
    assert run is not None
    assert run.status == "waiting"
    assert (await graph.ainvoke(Command(resume="approve"), thread("its own")))["status"] == "succeeded"


async def test_another_process_resumes_a_parent_that_has_a_store(office: Office) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    await as_subgraph(office, saver, store).ainvoke({"plan": FIND_AND_PAY}, thread())

    done = await as_subgraph(office, saver, store).ainvoke(Command(resume="approve"), thread())

    assert done["status"] == "succeeded"
    assert (office.found, office.paid) == (["A1"], [40])


async def test_a_resume_without_the_journal_is_refused_and_repeats_nothing(office: Office) -> None:
    saver = InMemorySaver()
    writes = plan(step("log", "log", {"text": "once"}), step("pay", "pay", {"amount": 1}, depends_on=["log"]))
    await as_subgraph(office, saver).ainvoke({"plan": writes}, thread())

    with pytest.raises(StoreUnavailableError, match=r"no journal of run .* of which log ended"):
        await as_subgraph(office, saver).ainvoke(Command(resume="approve"), thread())
    assert (office.logged, office.paid) == (["once"], [])


@pytest.mark.parametrize("scheduling", ["lanes", "layered"])
async def test_a_long_chain_runs_to_its_end_behind_another_runnable(office: Office, scheduling: str) -> None:
    graph = build_graph(tools=office.tools(), settings={"scheduling": scheduling})

    def as_input(given: Any) -> Any:
        return {"plan": given}

    chain = RunnableLambda(as_input) | graph

    async def call(given: Any) -> Any:
        return await graph.ainvoke({"plan": given})

    for run in (chain.ainvoke(CHAIN), RunnableLambda(call).ainvoke(CHAIN)):
        result = await run
        assert result["status"] == "succeeded"
        assert len(result["steps"]) == 60
    assert chain.invoke(CHAIN)["status"] == "succeeded"


async def test_a_low_limit_of_the_caller_stops_the_run_and_a_higher_one_goes_on_with_it(
    office: Office,
) -> None:
    graph = build_graph(
        tools=office.tools(), settings={"scheduling": "layered"}, checkpointer=InMemorySaver()
    )

    with pytest.raises(GraphRecursionError):
        await graph.ainvoke({"plan": CHAIN}, limited(24))
    done_before = len(office.found)
    result = await graph.ainvoke(None, limited(1000))

    assert 0 < done_before < 60
    assert result["status"] == "succeeded"
    assert len(office.found) == 60
