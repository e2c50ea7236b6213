"""When no plan with all tools can run, the model is asked which of them are needed, and plans with those."""

from typing import Any

import pytest

from graph.build import build_graph
from graph.plan import Plan
from nodes.narrowing import FEWEST, can_narrow
from tests.endpoint.office import Json, steps_of
from tests.support.openai_server import OpenAIServer, Reply, error, obj, text
from tools import HardToolError, ToolRegistry, policy

NAMES = ("find_order", "find_parcel", "find_stock", "find_person", "find_price")
GOAL = "Where is the parcel of A1?"


def _tool(name: str, made: list[str]) -> Any:
    @policy(effect="read", grounded=frozenset({"key"}))
    async def find(key: str) -> str:
        """Look something up."""
        made.append(f"{name} {key}")
        if name == "find_order":
            raise HardToolError("not_found", f"there is no {key}")
        return f"{name} of {key}"

    find.__name__ = name
    return find


def tools(made: list[str], names: tuple[str, ...] = NAMES) -> ToolRegistry:
    return ToolRegistry.of(*(_tool(name, made) for name in names))


def step(step_id: str, tool: str, key: str = "A1") -> Json:
    return {"id": step_id, "action": "tool", "tool": tool, "args": {"key": key}}


def planned(*steps: Json) -> Reply:
    return obj({"plan": {"steps": list(steps)}})


def needs(*names: str) -> Reply:
    return obj({"reason": "The parcel is asked for.", "tools": list(names)})


FAULTY = planned(step("s1", "find_person", "Joe"))
GOOD = planned(step("s1", "find_parcel"))


async def run(
    *replies: Reply, names: tuple[str, ...] = NAMES, plan: Json | None = None, **settings: Any
) -> tuple[Json, OpenAIServer, list[str]]:
    made: list[str] = []
    with OpenAIServer(replies) as server:
        chosen = {"backoff_base": 0, "word_answers": False, **settings}
        graph = build_graph(tools=tools(made, names), models=server.model(), settings=chosen)
        wish: Any = {"goal": GOAL} if plan is None else {"plan": plan}
        return await graph.ainvoke(wish), server, made


def offered(body: Json) -> list[str]:
    """The tools that a request's schema lets a plan call."""
    schema = body["response_format"]["json_schema"]["schema"]
    found: list[str] = schema["$defs"]["tool"]["enum"]
    return found


async def test_after_all_but_one_of_its_tries_a_model_plans_with_the_tools_that_it_says_it_needs() -> None:
    other = planned(step("s1", "find_person", "Jim"))
    result, server, made = await run(FAULTY, other, needs("find_parcel", "find_parcel"), GOOD)
    assert (result["status"], made) == ("succeeded", ["find_parcel A1"]), result["reason"]
    first, second, choice, last = server.requests
    assert offered(first) == offered(second) == list(NAMES)
    assert offered(last) == ["find_parcel"]
    assert "find_person(" not in last["messages"][0]["content"]
    said = last["messages"][-1]["content"]
    assert said.startswith(f"{GOAL}\n\nA plan for this was refused:\n- ungrounded_arg in s1: 'Jim'")
    assert [each["role"] for each in last["messages"]] == ["system", "user"]
    properties = choice["response_format"]["json_schema"]["schema"]["properties"]
    assert list(properties) == ["reason", "tools"]
    assert choice["max_completion_tokens"] == 300
    assert all(name in choice["messages"][0]["content"] for name in NAMES)
    assert choice["messages"][-1]["content"] == GOAL


async def test_a_faulty_plan_with_those_tools_is_the_last() -> None:
    result, server, made = await run(FAULTY, FAULTY, needs("find_person"), FAULTY, GOOD)
    assert (result["status"], made, len(server.requests)) == ("failed", [], 4)
    assert "ungrounded_arg in s1" in result["reason"]


async def test_who_needs_no_tool_there_is_cannot_and_says_why() -> None:
    result, server, made = await run(FAULTY, FAULTY, needs(), GOOD)
    assert (result["status"], made, len(server.requests)) == ("failed", [], 3)
    assert result["reason"] == "no tool does what is asked for: The parcel is asked for."


@pytest.mark.parametrize("said", [text("I do not know."), needs("fly"), obj({"tools": "all"})])
async def test_who_cannot_say_is_asked_for_a_plan_with_all_tools_once_more(said: Reply) -> None:
    result, server, made = await run(FAULTY, FAULTY, said, GOOD)
    assert (result["status"], made, len(server.requests)) == ("succeeded", ["find_parcel A1"], 4)
    assert offered(server.requests[-1]) == list(NAMES)


async def test_an_endpoint_that_fails_over_it_ends_the_planning() -> None:
    result, server, _made = await run(FAULTY, FAULTY, error(401, "who are you?"), GOOD)
    assert (result["status"], len(server.requests)) == ("failed", 3)
    assert "who are you?" in result["reason"]


@pytest.mark.parametrize(("repairs", "requests"), [(0, 1), (1, 3), (3, 5)])
async def test_plans_go_back_as_often_as_the_setting_says_and_the_question_comes_once(
    repairs: int, requests: int
) -> None:
    faulty = [planned(step("s1", "find_person", f"Joe {n}")) for n in range(6)]
    replies = [*faulty[: max(repairs, 1)], needs("find_parcel"), *faulty[repairs:]]
    result, server, _made = await run(*replies, plan_repairs=repairs)
    assert (result["status"], len(server.requests)) == ("failed", requests)


async def test_with_few_tools_there_is_nothing_to_narrow() -> None:
    few = NAMES[: FEWEST - 1]
    assert can_narrow(tools([]))
    assert not can_narrow(tools([], few))
    result, server, _made = await run(FAULTY, FAULTY, GOOD, names=few)
    assert (result["status"], len(server.requests)) == ("succeeded", 3)


async def test_a_call_that_is_planned_anew_though_it_failed_is_narrowed_too() -> None:
    plan = {"goal": GOAL, "steps": [step("s1", "find_order")]}
    again = planned(step("s2", "find_order"))
    result, server, made = await run(
        again, again, needs("find_parcel"), planned(step("s3", "find_parcel")), plan=plan
    )
    assert steps_of(result) == ["s3:succeeded"], result["reason"]
    assert made == ["find_order A1", "find_parcel A1"]
    asked = server.requests[2]["messages"][-1]["content"]
    assert asked.startswith(GOAL)
    assert "there is no A1" in asked
    assert "find_order(" not in server.requests[3]["messages"][0]["content"]
    assert Plan.from_json(result["plan"]).author == "replanner"
