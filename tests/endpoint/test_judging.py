"""What becomes of plans that go back: the same one again, lookups by made-up values, forgotten writes."""

from typing import Any

import pytest

from graph.build import build_graph
from graph.plan import Plan, PlanProblem, check_plan, parse_plan
from nodes.decide.needless import forgotten_write, needless_lookups, without_steps
from tests.endpoint.office import steps_of
from tests.support.openai_server import OpenAIServer, Reply, error, obj, text
from tools import HardToolError, ToolRegistry, policy

Json = dict[str, Any]
GOAL = "Refund order A1 in full."


def tools(made: list[str] | None = None) -> ToolRegistry:
    done = made if made is not None else []

    @policy(effect="read", grounded=frozenset({"order_id"}))
    async def query_order(order_id: str) -> Json:
        """Look an order up."""
        done.append(f"query {order_id}")
        return {"order_id": order_id, "amount": 40}

    @policy(effect="read", grounded=frozenset({"sku"}))
    async def query_stock(sku: str) -> Json:
        """Look an article's stock up."""
        done.append(f"stock {sku}")
        return {"sku": sku, "quantity": 3}

    @policy(effect="write", risk="low", grounded=frozenset({"order_id"}))
    async def issue_refund(order_id: str) -> str:
        """Pay an order back."""
        done.append(f"refund {order_id}")
        return order_id

    return ToolRegistry.of(query_order, query_stock, issue_refund)


def step(step_id: str, tool: str, order: str, *needs: str) -> Json:
    args = {"order_id": order}
    return {"id": step_id, "action": "tool", "tool": tool, "args": args, "depends_on": list(needs)}


LOOK = step("s1", "query_order", "A1")
REFUND = step("s2", "issue_refund", "${s1.order_id}")
MADE_UP = step("s3", "query_order", "B9")


def plan(*steps: Json) -> Reply:
    return obj({"plan": {"steps": list(steps)}})


async def run(*replies: Reply, goal: str = GOAL, **settings: Any) -> tuple[Json, OpenAIServer, list[str]]:
    made: list[str] = []
    with OpenAIServer(replies) as server:
        plain = {"backoff_base": 0, "word_answers": False}
        built = build_graph(tools=tools(made), models=server.model(), settings={**plain, **settings})
        return await built.ainvoke({"goal": goal}), server, made


def judged(*steps: Json) -> tuple[Plan, list[PlanProblem]]:
    read, faults = parse_plan({"goal": GOAL, "steps": list(steps)}, goal=GOAL, plan_id="p", author="planner")
    assert read is not None, faults
    return read, check_plan(read, tools())


async def test_who_repeats_a_faulty_plan_is_asked_once_without_its_own_words_and_no_more() -> None:
    result, server, made = await run(plan(step("s1", "issue_refund", "B9")), plan_repairs=5)
    assert result["status"] == "failed"
    assert "ungrounded_arg in s1" in result["reason"]
    assert made == []
    roles = [[each["role"] for each in body["messages"]] for body in server.requests]
    assert roles == [["system", "user"], ["system", "user", "assistant", "user"], ["system", "user"]]
    question = server.requests[2]["messages"][-1]["content"]
    assert question.startswith(f"{GOAL}\n\nA plan for this was refused:\n- ungrounded_arg in s1")


STOCK = {**step("s3", "query_stock", "B9"), "args": {"sku": "B9"}}


@pytest.mark.parametrize(
    ("needs", "calls"),
    [
        (["query_order", "issue_refund"], 1),
        (["query_stock", "issue_refund"], 2),
        ([], 2),
        (None, 2),
        ("all", 2),
        (["query_order", "Query_Stock"], 2),
    ],
)
async def test_a_made_up_lookup_with_a_tool_that_the_model_said_it_does_not_need_is_left_out_at_once(
    needs: Any, calls: int
) -> None:
    said = {"needs": needs, "plan": {"steps": [LOOK, REFUND, STOCK]}}
    result, server, made = await run(obj({"reply": said}), plan(LOOK, REFUND))
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])
    assert len(server.requests) == calls
    note = "s3: left out, a lookup by a made-up value whose result nothing uses"
    assert result["plan"].get("repairs", []) == ([note] if calls == 1 else [])


async def test_a_plan_that_comes_when_it_is_asked_for_afresh_is_taken() -> None:
    faulty = plan(step("s1", "issue_refund", "B9"))
    result, server, made = await run(faulty, faulty, plan(LOOK, REFUND))
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])
    assert len(server.requests) == 3


async def test_a_faulty_plan_that_changes_is_sent_back_so_often_and_no_more() -> None:
    replies = [plan(step("s1", "issue_refund", f"B{n}")) for n in range(6)]
    result, server, _made = await run(*replies, plan_repairs=3)
    assert result["status"] == "failed"
    assert len(server.requests) == 4


async def test_what_goes_back_says_that_a_step_may_be_left_out() -> None:
    _result, server, _made = await run(plan(LOOK, REFUND, MADE_UP), plan(LOOK, REFUND))
    assert "Leave a step out that the request does not need." in server.prompts()[1]


@pytest.mark.parametrize("repairs", [0, 1, 2])
async def test_a_lookup_by_a_made_up_value_is_left_out_before_the_plan_is_given_up(repairs: int) -> None:
    result, server, made = await run(plan(LOOK, REFUND, MADE_UP), plan_repairs=repairs)
    assert steps_of(result) == ["s1:succeeded", "s2:succeeded"], result["reason"]
    assert made == ["query A1", "refund A1"]
    assert len(server.requests) == min(repairs + 1, 2)
    (note,) = result["plan"]["repairs"]
    assert note == "s3: left out, a lookup by a made-up value whose result nothing uses"


@pytest.mark.parametrize(
    "user",
    [
        step("s4", "query_order", "${s3.order_id}", "s3"),
        step("s4", "query_stock", "A1", "s3"),
        {**step("s4", "query_order", "A1", "s3"), "when": "s3.amount > 1"},
        {**step("s4", "query_order", "A1", "s3"), "args": {"order_id": None}},
        step("s4", "issue_refund", "A1", "s3"),
        {"id": "s4", "action": "llm", "instruction": "Sum it up.", "depends_on": ["s3"]},
    ],
)
async def test_a_lookup_that_others_may_take_something_of_is_not_left_out(user: Json) -> None:
    result, _server, made = await run(plan(LOOK, REFUND, MADE_UP, user), plan_repairs=0)
    assert (result["status"], made) == ("failed", [])


async def test_no_plan_without_what_the_goal_asks_for_is_made_of_a_faulty_one() -> None:
    result, _server, made = await run(plan(LOOK, MADE_UP))
    assert (result["status"], made) == ("failed", [])


async def test_a_model_that_has_a_better_plan_is_heard_first() -> None:
    other = step("s3", "query_order", "${s1.order_id}")
    result, _server, _made = await run(plan(LOOK, REFUND, MADE_UP), plan(LOOK, REFUND, other))
    assert len(result["steps"]) == 3
    assert "repairs" not in result["plan"]


@pytest.mark.parametrize(
    "steps",
    [
        [LOOK, step("s3", "issue_refund", "B9")],  # a write may be what was asked for
        [MADE_UP],  # nothing would be left
        [MADE_UP, step("s4", "issue_refund", "${s3.order_id}")],  # something builds on it
        [LOOK, MADE_UP, step("s4", "issue_refund", "${s1.order_id}", "s3")],
        [LOOK, MADE_UP, step("s4", "steal", "A1")],  # something else is wrong too
        [LOOK, REFUND],
    ],
)
def test_nothing_else_is_left_out(steps: list[Json]) -> None:
    assert needless_lookups(*judged(*steps), tools()) == frozenset()


def test_lookups_that_build_on_each_other_are_left_out_together() -> None:
    both = [LOOK, MADE_UP, step("s4", "query_order", "B8", "s3")]
    assert needless_lookups(*judged(*both), tools()) == {"s3", "s4"}
    said = {"steps": [*both[:1], {**both[1], "id": " s3 "}, both[2]], "repairs": "none"}
    kept = without_steps(said, frozenset({"s3", "s4"}))
    assert ([each["id"] for each in kept["steps"]], len(kept["repairs"])) == (["s1"], 2)


@pytest.mark.parametrize(
    ("goal", "steps", "tool"),
    [
        (GOAL, [LOOK], "issue_refund"),
        ("Please refund order A1", [LOOK], "issue_refund"),
        (GOAL, [LOOK, REFUND], None),
        ("When was the refund of order A1 paid?", [LOOK], None),
        ("Look up order A1", [LOOK], None),
        (GOAL, [{"id": "s1", "action": "llm", "instruction": "x"}], None),
    ],
)
def test_a_forgotten_write_is_told_by_the_first_words_of_the_goal(
    goal: str, steps: list[Json], tool: str | None
) -> None:
    read, _ = judged(*steps)
    found = forgotten_write(read, goal, tools())
    assert (found.name if found else None) == tool


async def test_a_plan_that_only_looks_things_up_is_questioned_once() -> None:
    result, server, made = await run(plan(LOOK), plan(LOOK, REFUND))
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])
    asked = server.requests[1]["messages"]
    assert [each["role"] for each in asked] == ["system", "user"], "a model copies a plan that it sees"
    assert "only looked things up with query_order. If the request asks for what issue_refund" in str(
        asked[-1]
    )

    result, server, made = await run(plan(LOOK))
    assert (result["status"], made) == ("succeeded", ["query A1"])
    assert len(server.requests) == 2

    _result, server, _made = await run(plan(LOOK), plan({**LOOK, "id": "s7"}))
    assert len(server.requests) == 2


async def test_a_plan_that_only_looks_things_up_without_its_needless_lookups_is_questioned_too() -> None:
    again = [{**STOCK, "id": f"s{n}"} for n in range(4, 9)]
    said = obj({"reply": {"needs": ["query_order"], "plan": {"steps": [LOOK, STOCK, *again]}}})
    result, server, made = await run(said, plan(LOOK, REFUND))
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])
    assert "only looked things up with query_order. If" in server.requests[1]["messages"][-1]["content"]

    result, server, made = await run(said)
    assert (result["status"], made, len(server.requests)) == ("succeeded", ["query A1"], 2)


async def test_a_later_plan_is_not_questioned() -> None:
    @policy(effect="read", grounded=frozenset())
    async def query_order(order_id: str) -> str:
        """Look an order up."""
        if order_id == "A1":
            raise HardToolError("gone", "there is no A1")
        return order_id

    @policy(effect="write", risk="low", grounded=frozenset())
    async def issue_refund(order_id: str) -> str:
        """Pay an order back."""
        return order_id

    replies = [plan(LOOK, REFUND), plan(step("s3", "query_order", "A2"))]
    with OpenAIServer(replies) as server:
        registry = ToolRegistry.of(query_order, issue_refund)
        built = build_graph(tools=registry, models=server.model(), settings={"word_answers": False})
        result = await built.ainvoke({"goal": GOAL})
    assert steps_of(result) == ["s3:succeeded"], result["reason"]
    assert len(server.requests) == 2


async def test_what_was_questioned_or_can_do_without_a_step_is_taken_when_nothing_better_comes() -> None:
    prose = text("I am not sure.")
    result, server, made = await run(prose, prose, plan(LOOK))
    assert (result["status"], made) == ("succeeded", ["query A1"])
    assert len(server.requests) == 3

    result, server, made = await run(plan(LOOK), prose, prose)
    assert (result["status"], made) == ("succeeded", ["query A1"])

    result, server, made = await run(prose, prose, plan(LOOK, REFUND, MADE_UP))
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])

    result, server, made = await run(plan(LOOK, REFUND, MADE_UP), error(500, "out of order"), llm_attempts=1)
    assert (result["status"], made) == ("succeeded", ["query A1", "refund A1"])
