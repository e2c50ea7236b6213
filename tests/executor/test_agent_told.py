"""What is told of an agent's calls: to the model, in the journal, in tables and in events."""

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from checkpoints import Journal
from graph.build import build_graph
from graph.cli.documents import RunView, state_rows
from graph.plan import Plan
from tests.executor.agents import DONE, LOOK, agent, inputs
from tests.executor.shop import Shop, error_of, given, graph, step, thread
from tests.support.models import says


async def test_agents_prompts_hold_digests_only(shop: Shop) -> None:
    model = says(DONE)

    await graph(shop, model).ainvoke(
        given(step("long", "long"), agent("look", depends_on=["long"])), thread()
    )

    assert len(model.prompts[0]) < 10_000
    assert "truncated 2000 of 2000000" in model.prompts[0]


async def test_the_journal_names_each_call(shop: Shop) -> None:
    store = InMemoryStore()
    built = build_graph(
        tools=shop.tools(),
        models=says(LOOK, {"tool": "nothing"}, DONE),
        checkpointer=InMemorySaver(),
        store=store,
    )
    await built.ainvoke(inputs("look"), thread())

    steps = (await Journal(store, "t").load()).steps
    assert {key: entry.status.value for key, entry in steps.items()} == {
        "work": "succeeded",
        "work#0": "succeeded",
        "work#1": "failed",
    }
    assert steps["work"].model_calls == 3


def test_failures_of_an_agent_are_told(shop: Shop) -> None:
    model = says("no json at all")

    result = graph(shop, model, max_replans=0).invoke(inputs("look"), thread())

    assert error_of(result, "work").startswith("output_rejected")


async def test_the_state_table_shows_an_agents_calls_behind_it(shop: Shop) -> None:
    store = InMemoryStore()
    models = says(LOOK, DONE)
    built = build_graph(tools=shop.tools(), models=models, checkpointer=InMemorySaver(), store=store)
    await built.ainvoke(inputs("look"), thread())

    log = await Journal(store, "t").load()
    assert log.run is not None
    view = RunView(log.run, Plan.from_json(log.plans[1]), log, {}, False)

    assert [(row["step_id"], row["status"]) for row in state_rows(view)] == [
        ("work", "succeeded"),
        ("work#0", "succeeded"),
    ]


async def test_an_agents_calls_are_told_as_calls(shop: Shop) -> None:
    built = graph(shop, says(LOOK, DONE))
    events = [event async for event in built.astream(inputs("look"), thread(), stream_mode="custom")]

    told = [(event["type"], event["message"]) for event in events if event["step"] == "work"]
    assert told == [("step_started", ""), ("call_started", "look"), ("step_succeeded", "")]
