"""Requests and prompt tokens on fixed tasks, beside a plain tool-calling agent on the same server."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from tests.endpoint.office import Office
from tests.support.openai_server import OpenAIServer, Reply, call, calls, obj, text

Json = dict[str, Any]
CHARS_A_TOKEN = 4
STEPS = 8


@dataclass(frozen=True)
class Task:
    """A goal, what a planner says to it, and the calls that a tool-calling agent makes turn by turn."""

    goal: str
    plan: list[Reply]
    turns: list[Reply]


def search(step_id: str, query: str, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": "web_search", "args": {"query": query}, **more}


def say(step_id: str, instruction: str) -> Json:
    return {"id": step_id, "action": "llm", "instruction": instruction}


def planned(*steps: Json) -> Reply:
    return obj({"reply": {"plan": {"steps": list(steps), "assumptions": []}}})


def called(*queries: str) -> Reply:
    return calls(*(call("web_search", {"query": query}, id=f"c{query}") for query in queries))


NUMBERS = [str(number) for number in range(1, STEPS + 1)]
ALL = " ".join(f"${{s{number}}}" for number in NUMBERS)
DONE = text("All is found.")
READS = [planned(*(search(f"s{n}", n) for n in NUMBERS), say("all", f"Report {ALL}.")), DONE]
CHAIN = [search("s1", "1"), *(search(f"s{n}", f"${{s{n - 1}}}") for n in range(2, STEPS))]
TASKS = {
    "direct": Task("Say hello.", [obj({"reply": {"answer": "Hello."}})], [text("Hello.")]),
    "1 tool": Task(
        "Find 1.", [planned(search("s1", "1"), say("s2", "Report ${s1}")), DONE], [called("1"), DONE]
    ),
    "8 reads, calls at once": Task("Find 1 to 8.", READS, [called(*NUMBERS), DONE]),
    "8 reads, one call a turn": Task("Find 1 to 8.", READS, [*map(called, NUMBERS), DONE]),
    "8-step chain with a join": Task(
        "Follow 1 through to 8.",
        [planned(*CHAIN, search("side", "x"), say("join", f"Join ${{s{STEPS - 1}}} and ${{side}}.")), DONE],
        [*map(called, NUMBERS), DONE],
    ),
}
EXPECTED = {
    "direct": (1, 1),
    "1 tool": (2, 2),
    "8 reads, calls at once": (2, 2),
    "8 reads, one call a turn": (2, 9),
    "8-step chain with a join": (2, 9),
}


async def plain_agent(server: OpenAIServer, goal: str) -> None:
    """A tool-calling loop as every framework has it."""
    tools: dict[str, Callable[..., Any]] = {
        name: each.tool.ainvoke for name, each in Office().tools().items()
    }
    model = server.model().bind_tools([each.tool for each in Office().tools().values()])
    messages: list[BaseMessage] = [HumanMessage(goal)]
    while True:
        reply = await model.ainvoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            return
        messages += [
            ToolMessage(await tools[made["name"]](made["args"]), tool_call_id=made["id"])
            for made in reply.tool_calls
        ]


def tokens(server: OpenAIServer) -> int:
    """Prompt tokens as a rule of thumb has them: messages, tools and schemas."""
    return sum(
        len(json.dumps([body.get(key) for key in ("messages", "tools", "response_format") if key in body]))
        for body in server.requests
    ) // CHARS_A_TOKEN  # fmt: skip


@pytest.mark.parametrize("name", TASKS)
async def test_a_plan_never_takes_more_calls_than_a_plain_tool_calling_agent(name: str) -> None:
    task = TASKS[name]
    with OpenAIServer(task.plan) as ours:
        result = await Office().run(ours, task.goal)
    assert result["status"] == "succeeded", result["reason"]
    with OpenAIServer(task.turns) as theirs:
        await plain_agent(theirs, task.goal)
    print(f"\n{name:26} calls {len(ours.requests)} / {len(theirs.requests)}  "  # noqa: T201 - a table with -s
          f"prompt tokens {tokens(ours)} / {tokens(theirs)}")  # fmt: skip
    assert (len(ours.requests), len(theirs.requests)) == EXPECTED[name]
    if len(theirs.requests) > STEPS:
        assert tokens(ours) <= tokens(theirs) / 2
