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
ELSE = plan(find("s5", "else"))
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


async def replanned(second: Json, *more: Json) -> tuple[Json, list[str], OpenAIServer]:
    made: list[str] = []

    @policy(effect="read")
    async def find(what: str) -> str:
        """Find something."""
        made.append(what)
        if what == "nothing":
            raise HardToolError("not_found", "there is no such thing")
        return what

    @policy(effect="write", risk="low")
    async def note(text: str) -> str:
        """Write a note."""
        made.append(f"note {text}")
        return text

    with OpenAIServer([FIRST, plan(second, *more), ELSE]) as server:
        built = build_graph(
            tools=ToolRegistry.of(find, note), models=server.model(), settings={"word_answers": False}
        )
        return await built.ainvoke({"goal": "find it"}), made, server


async def test_a_lookup_under_the_id_of_a_step_that_is_done_gets_an_id_of_its_own() -> None:
    write = {"id": "s2", "action": "tool", "tool": "note", "args": {"text": "${s0}"}, "depends_on": ["s0"]}
    result, made, server = await replanned(find("s0", "else"), write)
    assert result["status"] == "succeeded", result["reason"]
    assert made == ["there", "nothing", "else", "note else"]
    assert [step["id"] for step in result["steps"]] == ["s0", "s0_2", "s2"]
    assert result["plan"]["repairs"] == ["s0: named s0_2, as s0 is done"]
    assert len(server.requests) == 2


async def test_a_step_that_was_not_taken_is_not_woken_by_the_new_meaning_of_an_id() -> None:
    asked: list[str] = []

    @policy(effect="read")
    async def look(what: str) -> Json:
        """Look something up."""
        if what == "gone":
            raise HardToolError("not_found", "there is no such thing")
        return {"what": what, "ok": what != "A1"}

    @policy(effect="write", risk="low")
    async def note(text: str) -> str:
        """Write a note."""
        asked.append(text)
        return text

    def call(step_id: str, tool: str, value: str, *needs: str, **more: Any) -> Json:
        args = {"text" if tool == "note" else "what": value}
        return {
            "id": step_id,
            "action": "tool",
            "tool": tool,
            "args": args,
            "depends_on": list(needs),
            **more,
        }

    first = plan(
        call("s0", "look", "A1"),
        call("w", "note", "A1", "s0", when="s0.ok"),
        call("s2", "look", "gone", "s0"),
    )
    second = plan(
        call("s0", "look", "A7"), call("s3", "look", "${w}", "w"), call("s4", "look", "${s0.what}", "s0")
    )
    with OpenAIServer([first, second]) as server:
        built = build_graph(
            tools=ToolRegistry.of(look, note), models=server.model(), settings={"word_answers": False}
        )
        result = await built.ainvoke({"goal": "Look up A1 or A7, gone"})
    assert asked == []
    ended = {step["id"]: step["status"] for step in result["steps"]}
    assert (ended["w"], ended["s0_2"], ended["s4"]) == ("not_taken", "succeeded", "succeeded")


async def test_a_write_under_the_id_of_a_step_that_is_done_goes_back() -> None:
    write = {"id": "s0", "action": "tool", "tool": "note", "args": {"text": "x"}}
    _result, made, server = await replanned(write, find("s2", "other"))
    assert "changes_completed_step in s0" in server.requests[2]["messages"][-1]["content"]
    assert made == ["there", "nothing", "else"]


@pytest.mark.parametrize(
    ("when", "ends", "noted"), [("s0[0].ok", "succeeded", ["A1"]), ("${s0.ok}", "partial", [])]
)
async def test_a_call_that_was_never_made_may_be_planned_again_under_another_condition(
    when: str, ends: str, noted: list[str]
) -> None:
    made: list[str] = []

    @policy(effect="read")
    async def look(what: str) -> list[Json]:
        """Look something up."""
        return [{"what": what, "ok": True}]

    @policy(effect="write", risk="low")
    async def note(text: str) -> str:
        """Write a note."""
        made.append(text)
        return text

    look_up = {"id": "s0", "action": "tool", "tool": "look", "args": {"what": "A1"}}
    write = {"id": "s1", "action": "tool", "tool": "note", "args": {"text": "A1"}, "depends_on": ["s0"]}
    replies = [plan(look_up, {**write, "when": "s0.ok"}), plan({**write, "when": when})]
    with OpenAIServer(replies) as server:
        built = build_graph(
            tools=ToolRegistry.of(look, note), models=server.model(), settings={"word_answers": False}
        )
        result = await built.ainvoke({"goal": "Note A1"})
    assert (result["status"], made) == (ends, noted)
    assert "the value is a list" in server.requests[1]["messages"][-1]["content"]
    if not noted:
        assert "the condition of s1 could not be told" in server.requests[2]["messages"][-1]["content"]
