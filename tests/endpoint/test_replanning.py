"""A replanner that gets nowhere is stopped, by the limit or before; faulty replies count apart."""

from typing import Any

import pytest

from graph.build import build_graph
from tests.support.openai_server import OpenAIServer, Reply, obj, text
from tools import HardToolError, ToolRegistry, policy

Json = dict[str, Any]


def find(step_id: str, what: str, **more: Any) -> Json:
    return {"id": step_id, "action": "tool", "tool": "find", "args": {"what": what}, **more}


def plan(*steps: Json) -> Reply:
    return obj({"plan": {"steps": list(steps)}})


FIND = find("s1", "nothing")
FIRST = plan(find("s0", "there"), find("s1", "nothing", depends_on=["s0"]))
STUBBORN: dict[str, tuple[list[Reply], int]] = {
    "the same plan": ([plan(find("s0", "there"), find("s1", "nothing", depends_on=["s0"]))], 0),
    "the same under new ids": ([plan(find("t1", "nothing", depends_on=["s0"]))], 0),
    "no steps": ([obj({"plan": {"steps": []}})], 0),
    "only what is done": ([plan(find("s0", "there"))], 0),
    "no JSON": ([text("I am not sure.")], 0),
    "one step more each time": (
        [plan(find("a", "gone")), plan(find("b", "lost"), find("c", "there")), plan(find("d", "never"))],
        2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STUBBORN)
async def test_a_replanner_that_gets_nowhere_is_stopped_with_the_reason(name: str) -> None:
    replies, revisions = STUBBORN[name]
    made: list[str] = []

    @policy(effect="read")
    async def find(what: str) -> str:
        """Find something."""
        made.append(what)
        if what != "there":
            raise HardToolError("not_found", f"there is no {what}")
        return what

    with OpenAIServer([FIRST, *replies]) as server:
        graph = build_graph(
            tools=ToolRegistry.of(find),
            models=server.model(),
            settings={"backoff_base": 0, "max_replans": 2, "plan_repairs": 2},
        )
        result = await graph.ainvoke({"goal": "find it"})

    assert result["status"] in {"failed", "partial"}
    assert "no other plan" in result["reason"] or "limit of 2 replans" in result["reason"]
    assert result["replans"] == revisions
    assert made.count("nothing") == 1
    assert made[0] == "there"
    assert len(server.requests) <= 1 + 3
    done = [step for step in result["steps"] if step["id"] == "s0"]
    assert [step["status"] for step in done] == ["succeeded"]


async def test_an_answer_in_place_of_another_plan_is_taken_for_none() -> None:
    @policy(effect="read")
    async def find(what: str) -> str:
        """Find something."""
        raise HardToolError("not_found", f"there is no {what}")

    with OpenAIServer([plan(FIND), obj({"answer": "It is all done."})]) as server:
        graph = build_graph(tools=ToolRegistry.of(find), models=server.model())
        result = await graph.ainvoke({"goal": "find it"})
    assert result["status"] == "failed"
    assert len(server.requests) == 2
