"""Agent steps: a few guarded calls of one model's choice, journaled one by one."""

import asyncio
import threading
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from checkpoints import Journal, StepEntry
from graph.build import build_graph
from graph.cli.documents import RunView, state_rows
from graph.plan import AgentStep, Plan, check_plan, parse_plan
from tests.executor.shop import (
    CUSTOMER,
    Shop,
    by_id,
    entries,
    error_of,
    given,
    graph,
    plan,
    statuses,
    step,
    thread,
)
from tests.support.models import ScriptedModel, says
from tests.support.openai_server import OpenAIServer, call, calls, error, obj, text
from tools import IdempotencyKey, OutcomeUnknown, ToolRegistry, policy

LOOK = {"tool": "look", "args": {"order": "A1"}}
PAY = {"tool": "pay", "args": {"to": "ann@x.com", "amount": 40}}
DONE = {"result": "refunded"}


@pytest.fixture
def shop() -> Shop:
    return Shop()


def agent(*tools: str, **more: Any) -> dict[str, Any]:
    return {"id": "work", "action": "agent", "instruction": "refund it", "tools": list(tools), **more}


def inputs(*tools: str, **more: Any) -> Any:
    return given(agent(*tools, **more))


async def items(built: Any) -> dict[str, StepEntry]:
    return {key: entry for key, entry in (await entries(built)).items() if entry.item is not None}


# ------------------------------------------------------------------------------------ the plan language


def test_an_agent_step_round_trips_and_is_checked(shop: Shop) -> None:
    read, faults = parse_plan(plan(agent("look", "pya")))
    assert read is not None, faults
    working = read.step("work")
    assert isinstance(working, AgentStep)
    assert (working.max_iterations, working.tools) == (8, ("look", "pya"))
    assert parse_plan(read.to_json())[0] == read
    assert [str(problem) for problem in check_plan(read, shop.tools())] == [
        "unknown_tool [work]: there is no tool 'pya'; did you mean pay?"
    ]


@pytest.mark.parametrize("wrong", [{"tools": []}, {"max_iterations": 0}, {"max_iterations": 51}])
def test_an_agent_needs_tools_and_an_end(wrong: dict[str, Any]) -> None:
    assert parse_plan(plan({**agent("look"), **wrong}))[0] is None


# ---------------------------------------------------------------------------------------- as one object


async def test_an_agent_looks_up_and_gives_its_result(shop: Shop) -> None:
    model = says(LOOK, {"result": "Ann gets 40"})
    built = graph(shop, model)

    result = await built.ainvoke(inputs("look", "read"), thread())

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert shop.calls == [("look", {"order": "A1"})]
    assert "ann@x.com" in model.prompts[1]
    (key, item), *rest = (await items(built)).items()
    assert (key, rest, item.tool, item.output) == ("work#0", [], "look", CUSTOMER)
    assert result["usage"]["model_calls"] == 2
    assert result["usage"]["tool_calls"] == 1


async def test_the_result_fits_its_schema_or_goes_back(shop: Shop) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model = says({"result": {"n": "many"}}, {"result": {"n": 3}})

    result = await graph(shop, model).ainvoke(inputs("look", output_schema=schema), thread())

    assert by_id(result)["work"]["output"] == {"n": 3}


async def test_choices_bound_the_result(shop: Shop) -> None:
    model = says({"result": "maybe"}, {"result": "YES"})

    result = await graph(shop, model).ainvoke(inputs("look", choices=["yes", "no"]), thread())

    assert by_id(result)["work"]["output"] == "yes"


async def test_iterations_are_bounded_and_the_result_is_asked_for_at_the_end(shop: Shop) -> None:
    pages = [{"tool": "read", "args": {"page": str(at)}} for at in range(9)]
    model = says(*pages[:3], DONE)

    result = await graph(shop, model).ainvoke(inputs("read", max_iterations=3), thread("a"))
    assert by_id(result)["work"]["output"] == "refunded"
    assert "There are no more tool calls" in model.prompts[3]

    restless = await graph(shop, says(*pages), max_replans=0).ainvoke(inputs("read"), thread("b"))
    assert statuses(restless)["work"] == "failed"
    assert len(shop.did("read")) == 3 + 8


async def test_a_repeated_lookup_is_answered_from_what_is_known(shop: Shop) -> None:
    await graph(shop, says(LOOK, LOOK, DONE)).ainvoke(inputs("look"), thread())

    assert len(shop.did("look")) == 1


async def test_an_agent_that_goes_round_is_asked_for_its_result(shop: Shop) -> None:
    model = says(LOOK, {"tool": "read", "args": {"page": "p"}}, LOOK, LOOK, DONE)
    result = await graph(shop, model).ainvoke(inputs("look", "read"), thread())

    assert by_id(result)["work"]["output"] == "refunded"
    assert len(shop.did("look")) == 1
    told = ["There are no more tool calls" in prompt for prompt in model.prompts]
    assert told == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"tool": "pay", "args": {}}, "there is no tool 'pay'; the tools are look"),
        ({"tool": "look", "args": {"page": "x"}}, "there is no argument 'page'"),
        ({"tool": "look"}, "Field required"),
    ],
)
async def test_a_call_that_must_not_be_made_is_answered_with_the_reason(
    shop: Shop, wrong: dict[str, Any], words: str
) -> None:
    model = says(wrong, DONE)

    result = await graph(shop, model).ainvoke(inputs("look"), thread())

    assert result["status"] == "succeeded"
    assert shop.calls == []
    assert words in model.prompts[1]


async def test_a_failing_tool_is_not_called_again_with_the_same_arguments(shop: Shop) -> None:
    shop.fails.add("look")
    model = says(LOOK, LOOK, DONE)

    result = await graph(shop, model).ainvoke(inputs("look"), thread())

    assert len(shop.did("look")) == 1
    assert "look is out of order" in model.prompts[1]
    assert result["status"] == "succeeded"


# ----------------------------------------------------------------------------------------------- writes


async def test_an_agent_with_writes_is_approved_as_a_whole_first(shop: Shop) -> None:
    built = graph(shop, says(LOOK, PAY, DONE))

    waiting = await built.ainvoke(inputs("look", "pay"), thread())
    assert shop.calls == []
    assert waiting["pending"][0]["reason"] == "it may use tools that write: pay"
    assert waiting["pending"][0]["args"] == {"instruction": "refund it", "tools": ["look", "pay"]}

    result = await built.ainvoke(Command(resume="approve"), thread())
    assert result["status"] == "succeeded"
    assert len(shop.did("pay")) == 1
    assert [(row["step"], row["tool"]) for row in result["effects"]] == [("work", "pay")]


async def test_the_plans_premises_are_checked_before_an_agent_that_may_write(shop: Shop) -> None:
    worker, doubter = says(DONE), says({"reason": "it was paid", "valid": False, "broken_assumption": "due"})
    models = {"executor": worker, "validator": doubter}

    result = await graph(shop, models, approve_at="never", max_replans=0).ainvoke(
        given(step("look", "look", {"order": "A1"}), agent("pay", depends_on=["look"])), thread()
    )

    assert (worker.prompts, len(doubter.prompts)) == ([], 1)
    assert "due" in result["reason"]


async def test_the_same_write_is_made_once_and_a_made_up_one_never(shop: Shop) -> None:
    invented = {"tool": "pay", "args": {"to": "eve@x.com", "amount": 40}}
    model = says(LOOK, PAY, PAY, invented, {**PAY, "args": {"to": "ann@x.com", "amount": 41}}, DONE)

    result = await graph(shop, model, approve_at="never").ainvoke(inputs("look", "pay"), thread())

    assert result["status"] == "succeeded"
    assert [(paid["to"], paid["amount"]) for paid in shop.did("pay")] == [("ann@x.com", 40)]
    assert "already done" in model.prompts[3]
    assert "'eve@x.com' as to is neither" in model.prompts[4]
    assert "41 as amount is neither" in model.prompts[5]


async def test_what_an_agent_wrote_is_done_when_its_step_is_replaced(shop: Shop) -> None:
    again = plan(step("again", "pay", {"to": "ann@x.com", "amount": 40}), goal="pay 40 to ann@x.com")
    replanned = plan(step("other", "read", {"page": "p"}))
    model = says(PAY, {"result": 3}, {"result": 3}, {"result": 3}, again, replanned)
    working = agent("pay", choices=["yes"])

    result = await graph(shop, model, approve_at="never").ainvoke(
        given(working, goal="pay 40 to ann@x.com"), thread()
    )

    assert result["replans"] == 1
    assert len(shop.did("pay")) == 1
    assert "repeats_completed_effect" in model.prompts[5]
    assert [(row["tool"], row["status"]) for row in result["effects"]] == [("pay", "succeeded")]


# -------------------------------------------------------------------------------------------- going on


async def test_calls_that_ended_before_a_crash_are_read_back(shop: Shop) -> None:
    store, saver = InMemoryStore(), InMemorySaver()
    asked, released = threading.Event(), threading.Event()

    def hang(_prompt: str) -> Any:
        asked.set()
        released.wait(10)
        return DONE

    def built(model: ScriptedModel) -> Any:
        return build_graph(tools=shop.tools(), models=model, checkpointer=saver, store=store)

    first = asyncio.create_task(built(says(LOOK, hang)).ainvoke(inputs("look", "read"), thread()))
    await asyncio.to_thread(asked.wait, 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    released.set()
    model = says(DONE)
    result = await built(model).ainvoke(None, thread())

    assert result["status"] == "succeeded"
    assert len(shop.did("look")) == 1
    assert "ann@x.com" in model.prompts[0]
    assert result["usage"]["tool_calls"] == 1


async def test_a_tools_own_question_pauses_the_agent_and_is_answered() -> None:
    asked: list[str] = []

    @policy(effect="read")
    async def ask(what: str) -> str:
        """Ask a person."""
        asked.append(what)
        return str(interrupt({"what": what}))

    model = says({"tool": "ask", "args": {"what": "colour"}}, {"result": "done"})
    built = build_graph(
        tools=ToolRegistry.of(ask), models=model, checkpointer=InMemorySaver(), store=InMemoryStore()
    )

    waiting = await built.ainvoke(inputs("ask"), thread())
    assert waiting["pending"][0]["step"] == "work"
    result = await built.ainvoke(Command(resume="red"), thread())

    assert result["status"] == "succeeded"
    assert len(model.prompts) == 2
    assert "red" in model.prompts[1]


@pytest.mark.parametrize("approve_at", ["never", "high"])
@pytest.mark.parametrize(("answer", "times"), [("happened", 1), ("not_happened", 2)])
async def test_a_write_in_doubt_is_decided_by_a_person_and_the_agent_goes_on(
    answer: str, times: int, approve_at: str
) -> None:
    made: list[str] = []

    @policy(effect="write")
    async def send(text: str) -> str:
        """Send a text."""
        made.append(text)
        if len(made) == 1:
            raise OutcomeUnknown("the line went dead")
        return "sent"

    model = says({"tool": "send", "args": {"text": "hello"}}, {"result": "done"})
    built = build_graph(
        tools=ToolRegistry.of(send),
        models=model,
        settings={"approve_at": approve_at},
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )

    waiting = await built.ainvoke(inputs("send"), thread())
    if approve_at == "high":
        waiting = await built.ainvoke(Command(resume="approve"), thread())
    assert waiting["pending"][0]["kind"] == "outcome"
    assert waiting["pending"][0]["args"]["call"] == {"tool": "send", "args": {"text": "hello"}}
    result = await built.ainvoke(Command(resume={"decision": answer, "result": "sent"}), thread())

    assert (result["status"], len(made)) == ("succeeded", times)
    assert len(model.prompts) == 2
    assert "sent" in model.prompts[1]


@pytest.mark.parametrize(("idempotent", "status"), [(True, "succeeded"), (False, "waiting")])
async def test_a_write_that_a_crash_cut_off_is_repeated_only_with_its_key(
    idempotent: bool, status: str
) -> None:
    keys: list[str] = []
    begun, never = asyncio.Event(), asyncio.Event()

    @policy(effect="write", idempotent=idempotent)
    async def send(text: str, key: Annotated[str, IdempotencyKey]) -> str:
        """Send a text."""
        keys.append(key)
        if len(keys) == 1:
            begun.set()
            await never.wait()
        return "sent"

    store, saver = InMemoryStore(), InMemorySaver()

    def built(model: ScriptedModel) -> Any:
        return build_graph(
            tools=ToolRegistry.of(send),
            models=model,
            settings={"approve_at": "never"},
            checkpointer=saver,
            store=store,
        )

    sending = {"tool": "send", "args": {"text": "hello"}}
    first = asyncio.create_task(built(says(sending)).ainvoke(inputs("send"), thread()))
    await asyncio.wait_for(begun.wait(), 10)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    model = says({"result": "done"})
    result = await built(model).ainvoke(None, thread())

    assert result["status"] == status
    assert len(keys) == (2 if idempotent else 1)
    assert len(set(keys)) == 1
    assert len(model.prompts) == (1 if idempotent else 0)


# ---------------------------------------------------------------------------------------- by tool calls


async def on_server(shop: Shop, server: OpenAIServer, **settings: Any) -> Any:
    return await graph(shop, server.model(), **settings).ainvoke(inputs("look", "read"), thread())


async def test_tool_calling_is_used_where_it_works(shop: Shop) -> None:
    both = calls(call("look", {"order": "A1"}), call("read", {"page": "p"}, id="call_2"))
    with OpenAIServer([both, text("Ann gets 40")]) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert [tool for tool, _ in shop.calls] == ["look", "read"]
    assert [each["function"]["name"] for each in server.requests[0]["tools"]] == ["look", "read"]
    assert [message["role"] for message in server.requests[1]["messages"]][2:] == [
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]


WRITTEN_CALL = text('```json\n{"name": "look", "arguments": {"order": "A1"}}\n```')


@pytest.mark.parametrize("first", [error(400, "tools is not supported by this model"), WRITTEN_CALL])
async def test_an_endpoint_without_tool_calling_is_asked_for_objects_from_then_on(
    shop: Shop, first: Any
) -> None:
    lines = [first, obj({"next": LOOK}), obj({"next": {"result": "Ann gets 40"}})]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert len(server.requests) == 3
    assert all("tools" not in body for body in server.requests[1:])
    assert server.requests[1]["response_format"]["type"] == "json_schema"
    assert server.requests[1]["response_format"]["json_schema"]["strict"] is True


async def test_a_call_written_as_text_after_true_calls_is_no_result_either(shop: Shop) -> None:
    read = obj({"next": {"tool": "read", "args": {"page": "p"}}})
    true_call = calls(call("look", {"order": "A1"}))
    with OpenAIServer([true_call, WRITTEN_CALL, read, obj({"next": {"result": "Ann gets 40"}})]) as server:
        result = await on_server(shop, server)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert [tool for tool, _ in shop.calls] == ["look", "read"]
    assert "tools" not in server.requests[-1]


async def test_a_call_written_as_text_goes_back_where_there_is_no_other_way(shop: Shop) -> None:
    lines = [calls(call("look", {"order": "A1"})), WRITTEN_CALL, text("Ann gets 40")]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server, agent_method="tools")

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert "no result" in server.requests[-1]["messages"][-1]["content"]


async def test_a_call_written_as_text_when_none_are_left_has_the_result_asked_for_in_its_shape(
    shop: Shop,
) -> None:
    again = obj({"tool": "look", "args": {"order": "A1"}})
    lines = [calls(call("look", {"order": "A1"})), WRITTEN_CALL, again, obj({"result": "Ann gets 40"})]
    with OpenAIServer(lines) as server:
        result = await on_server(shop, server, max_agent_iterations=1)

    assert by_id(result)["work"]["output"] == "Ann gets 40"
    assert len(shop.calls) == 1
    shape = server.requests[2]["response_format"]["json_schema"]["schema"]
    assert list(shape["properties"]) == ["result"]
    assert "no more tool calls" in server.requests[-1]["messages"][-1]["content"]


async def test_a_refusal_that_has_nothing_to_do_with_tools_is_final(shop: Shop) -> None:
    with OpenAIServer([error(401, "no such key")]) as server:
        result = await on_server(shop, server, max_replans=0)

    assert statuses(result)["work"] == "failed"
    assert len(server.requests) == 1


async def test_the_method_can_be_fixed(shop: Shop) -> None:
    with OpenAIServer([obj({"next": DONE})]) as server:
        await on_server(shop, server, agent_method="structured")

    assert "tools" not in server.requests[0]


async def test_an_agent_stops_when_the_run_may_spend_no_more(shop: Shop) -> None:
    result = await graph(shop, says(LOOK, DONE), max_model_calls=1).ainvoke(inputs("look"), thread())

    assert result["status"] != "succeeded"
    assert "max_model_calls" in result["reason"]


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
