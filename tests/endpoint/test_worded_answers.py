"""What a model's plan looked up, told in words by the reporter's model; the results stand where it fails."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.build import build_graph
from graph.plan import LlmStep, Plan, Sources, ToolStep, check_plan
from nodes.decide.answering import ANSWER, is_answer, last_steps, made_up_fault, with_answer
from tests.endpoint.office import Json, Office, steps_of
from tests.support.openai_server import OpenAIServer, Reply, error, obj, text
from tools import HardToolError, ToolRegistry, policy

OFFICE = Office().tools()


def look(step_id: str, query: str = "q", *needs: str) -> Json:
    args = {"query": query}
    return {"id": step_id, "action": "tool", "tool": "web_search", "args": args, "depends_on": list(needs)}


def write(step_id: str, *needs: str) -> Json:
    args = {"path": "a", "content": "b"}
    return {"id": step_id, "action": "tool", "tool": "write_file", "args": args, "depends_on": list(needs)}


def say(step_id: str, *needs: str) -> Json:
    return {"id": step_id, "action": "llm", "instruction": "Say it.", "depends_on": list(needs)}


def planned(*steps: Json) -> Reply:
    return obj({"plan": {"steps": list(steps)}})


def told(*steps: Json, max_steps: int = 200) -> Plan:
    plan = Plan.model_validate({"goal": "g", "author": "planner", "steps": steps})
    return with_answer(plan, lambda step: tuple(OFFICE[name] for name in step.own_tools), max_steps)


@pytest.mark.parametrize(
    ("steps", "needs"),
    [
        ([look("a")], ("a",)),
        ([look("a"), look("b")], ("a", "b")),
        ([look("a"), look("b", "${a}", "a")], ("b",)),
        ([look("a"), say("b")], ("a", "b")),
        ([write("w"), look("a", "q", "w")], ("a",)),
        ([{"id": "m", "action": "map", "over": ["x"], "step": look("m")}], ("m",)),
    ],
)
def test_a_plan_that_ends_in_lookups_is_given_an_answer(steps: list[Json], needs: tuple[str, ...]) -> None:
    answer = told(*steps).steps[-1]
    assert isinstance(answer, LlmStep)
    assert (answer.id, answer.role, answer.optional, answer.depends_on) == (ANSWER, "reporter", True, needs)


@pytest.mark.parametrize(
    "steps",
    [
        [write("w")],
        [look("a"), write("w", "a")],
        [look("a"), write("w")],  # what was done is told by code
        [say("s")],
        [look("a"), say("s", "a")],
        [look("a"), {"id": "p", "action": "plan", "goal": "all else"}],
        [{"id": "m", "action": "map", "over": ["x"], "step": write("m")}],
        [{"id": "g", "action": "agent", "instruction": "find", "tools": ["write_file"]}],
    ],
)
def test_what_tells_or_does_something_by_itself_is_given_none(steps: list[Json]) -> None:
    assert not any(map(is_answer, told(*steps).steps))


def test_a_plan_has_no_more_steps_than_it_may_and_no_two_of_one_id() -> None:
    assert len(told(look("a"), look("b"), max_steps=2).steps) == 2
    taken = told(look(ANSWER), look(f"{ANSWER}2"))
    assert taken.steps[-1].id == f"{ANSWER}3"


@given(st.lists(st.lists(st.booleans(), max_size=8), min_size=1, max_size=8))
def test_an_answer_builds_on_all_that_nothing_else_uses_and_the_plan_stays_sound(
    edges: list[list[bool]],
) -> None:
    steps = []
    for at, row in enumerate(edges):
        needs = [f"s{before}" for before, there in enumerate(row[:at]) if there]
        steps.append(look(f"s{at}", " ".join(f"${{{name}}}" for name in needs) or "q", *needs))
    plan = told(*steps)
    answer = plan.steps[-1]
    assert is_answer(answer)
    assert last_steps(plan) == [answer]
    assert check_plan(plan, OFFICE) == []
    assert set(answer.depends_on) == {step.id for step in last_steps(told(*steps, max_steps=0))}


@pytest.mark.parametrize(
    ("said", "invented"),
    [
        ("Order A1235 is on its way.", None),
        ("订单A1235的包裹在路上", None),
        ("Order A1236 is on its way.", "A1236"),
        ("It is INV-2026-01, said ann@x.com.", None),
        ("Ask bob@x.com.", "bob@x.com"),
        ("On 9 March 2026, at 3pm, 2nd floor, 1,500.00 EUR", None),
        ({"order": "B77"}, "B77"),
    ],
)
def test_an_answer_names_no_code_and_no_address_without_a_source(said: Any, invented: str | None) -> None:
    sources = Sources("the parcel of A1235", {"s1": {"invoice": "INV-2026-01", "mail": "Ann@x.com"}})
    fault = made_up_fault(said, sources)
    assert (invented in fault) if invented and fault else fault is None and invented is None


async def run(*replies: Reply, goal: str = "Find A1235.", **settings: Any) -> tuple[Json, OpenAIServer]:
    with OpenAIServer(replies) as server:
        return await Office().run(server, goal, **settings), server


async def test_a_person_who_asks_is_answered_in_words_from_the_results() -> None:
    result, server = await run(planned(look("a", "x"), look("b", "y")), text("Both are found."))
    assert (result["status"], result["answer"]) == ("succeeded", "Both are found.")
    assert steps_of(result) == ["a:succeeded", "b:succeeded", "answer:succeeded"]
    prompt = server.prompts()[1]
    assert all(part in prompt for part in ("Find A1235.", "found x", "found y", "language of the request"))


async def test_the_results_are_the_answer_where_words_are_not_wanted_or_the_plan_is_a_callers() -> None:
    result, server = await run(planned(look("a", "x")), word_answers=False)
    assert (result["answer"], len(server.requests)) == ("found x", 1)
    with OpenAIServer(text("unused")) as server:
        result = await Office().graph(server).ainvoke({"plan": {"goal": "g", "steps": [look("a", "x")]}})
    assert (result["answer"], server.requests) == ("found x", [])


async def test_the_reporters_own_model_is_asked() -> None:
    with OpenAIServer(planned(look("a"))) as planner, OpenAIServer(text("It is found.")) as reporter:
        models = {"planner": planner.model(), "reporter": reporter.model()}
        graph = build_graph(tools=OFFICE, models=models, settings={})
        result = await graph.ainvoke({"goal": "g"})
    assert (result["answer"], len(planner.requests), len(reporter.requests)) == ("It is found.", 1, 1)


async def test_without_a_model_for_it_there_is_no_such_step() -> None:
    with OpenAIServer(planned(look("a"))) as server:
        graph = build_graph(tools=OFFICE, models={"planner": server.model()}, settings={})
        result = await graph.ainvoke({"goal": "g"})
    assert (result["status"], result["answer"], len(server.requests)) == ("succeeded", "found q", 1)


async def test_an_answer_with_a_made_up_code_goes_back_and_the_results_stand_when_it_stays() -> None:
    result, server = await run(planned(look("a", "x")), text("It is B9999."), text("It is A1235."))
    assert (result["answer"], len(server.requests)) == ("It is A1235.", 3)
    assert "'B9999' is neither in the results nor in the task" in server.prompts()[2]

    result, _server = await run(planned(look("a", "x")), text("It is B9999."))
    assert (result["status"], result["answer"]) == ("succeeded", "found x")
    assert "B9999" not in str(result["answer"])


async def test_a_model_that_fails_loses_no_result() -> None:
    result, _server = await run(planned(look("a", "x")), error(400, "no"), llm_attempts=1)
    assert (result["status"], result["success"], result["answer"]) == ("succeeded", True, "found x")


async def test_a_spent_budget_loses_no_result() -> None:
    result, server = await run(planned(look("a", "x")), text("unused"), max_model_calls=1)
    assert (result["status"], result["answer"], len(server.requests)) == ("succeeded", "found x", 1)


async def test_another_plan_ends_in_an_answer_too_and_its_model_does_not_see_the_first() -> None:
    @policy(effect="read")
    async def lose(what: str) -> str:
        """Find nothing, ever."""
        raise HardToolError("not_found", f"{what} is not there")

    @policy(effect="read")
    async def find(what: str) -> str:
        """Find it."""
        return f"found {what}"

    def step(step_id: str, tool: str) -> Json:
        return {"id": step_id, "action": "tool", "tool": tool, "args": {"what": "x"}}

    with OpenAIServer(
        [planned(step("a", "lose")), planned(step("b", "find")), text("It is there.")]
    ) as server:
        graph = build_graph(tools=ToolRegistry.of(lose, find), models=server.model(), settings={})
        result = await graph.ainvoke({"goal": "g"})
    assert (result["status"], result["answer"]) == ("succeeded", "It is there.")
    assert steps_of(result) == ["b:succeeded", "answer:succeeded"]
    assert "the answer in words" not in server.prompts()[1]


def test_an_answer_is_stored_and_read_again_as_it_is() -> None:
    plan = told(look("a"))
    assert Plan.from_json(plan.to_json()) == plan
    assert isinstance(plan.steps[0], ToolStep)
    assert "role" not in Plan.model_validate({"goal": "g", "steps": [say("s")]}).to_json()["steps"][0]  # type: ignore[operator,index]
