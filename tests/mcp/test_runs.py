"""Whole runs with the tools of MCP servers: on SQLite, planned by a model, and worked on by an agent."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from checkpoints import open_store
from graph.build import build_graph
from graph.running import PlanrailGraph
from tests.mcp.support import odd, office
from tests.support.openai_server import OpenAIServer, call, calls, obj, text
from tools.mcp import mcp_tools
from tools.mcp.config import ServerConfig, read_servers

GOAL: Any = {"goal": "look order A1 up"}
SETTINGS = {"backoff_base": 0.0, "approve_at": "high"}
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text("utf-8")


def _step(step_id: str, tool: str, **args: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args}


def _given(*steps: dict[str, Any]) -> Any:
    return {"goal": "try it", "plan": {"goal": "try it", "steps": list(steps)}}


def _thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def _calls(place: Path) -> list[str]:
    return place.read_text("utf-8").split()


def test_one_graph_runs_from_scripts_and_from_loops_and_settles_what_is_in_doubt(tmp_path: Path) -> None:
    place = tmp_path / "calls.txt"
    quick = {"*": {"backoff_base": 0, "max_attempts": 2}}
    entry = office(env={"CALLS": str(place)}, policies=quick)
    with mcp_tools({"office": entry}) as tools, open_store(tmp_path / "runs.db") as opened:
        graph = build_graph(
            tools=tools, settings=SETTINGS, checkpointer=opened.checkpointer, store=opened.store
        )
        kept = _step("keep", "save", text="${find.number}")
        done = graph.invoke(_given(_step("find", "find_order", number="A1"), kept), _thread("a"))
        assert (done["status"], done["steps"][1]["output"]) == ("succeeded", "saved A1")
        again = asyncio.run(graph.ainvoke(_given(_step("loud", "shout", text="a")), _thread("b")))
        assert again["answer"] == "A"
        doubtful = graph.invoke(_given(_step("write", "die_writing")), _thread("c"))
        assert (doubtful["status"], doubtful["steps"][0]["status"]) == ("waiting", "unknown")
        lost = graph.invoke(_given(_step("read", "die_reading")), _thread("d"))
        assert (lost["status"], lost["steps"][0]["attempts"]) == ("failed", 2)
        refused = graph.invoke(_given(_step("fail", "fail", reason="no such order")), _thread("e"))
        assert "no such order" in refused["steps"][0]["error"]["message"]
        assert (refused["status"], refused["steps"][0]["attempts"]) == ("failed", 1)
    assert _calls(place) == ["find_order", "save", "shout", "die_writing", *["die_reading"] * 2, "fail"]


async def test_a_model_plans_with_the_tools_of_servers_and_an_agent_calls_them(tmp_path: Path) -> None:
    place = tmp_path / "calls.txt"
    servers = {"office": office(env={"CALLS": str(place)}), "odd": odd("branches")}
    planned = {"steps": [_step("s1", "find_order", number="A1"), _step("s2", "good", text="${s1.number}")]}
    async with mcp_tools(servers) as tools:
        with OpenAIServer([obj(planned)]) as server:
            graph = build_graph(
                tools=tools,
                models=server.model(),
                settings={**SETTINGS, "validation": "off", "word_answers": False},
            )
            done = await graph.ainvoke(GOAL)
            sent = json.dumps(server.requests[0])
        assert (done["status"], done["answer"]) == ("succeeded", "A1")
        assert "Find an order." in sent
        agent = {
            "id": "work",
            "action": "agent",
            "instruction": "look A1 up",
            "tools": ["find_order", "shout", "odd_names"],
        }
        with OpenAIServer([calls(call("find_order", {"number": "A1"})), text("it is A1")]) as server:
            graph = build_graph(
                tools=tools,
                models=server.model(),
                settings={**SETTINGS, "validation": "off", "word_answers": False},
            )
            done = await graph.ainvoke(_given(agent))
        assert (done["status"], done["answer"]) == ("succeeded", "it is A1")
    assert _calls(place) == ["find_order", "find_order"]


# --- the page ---


def _section(language: str) -> str:
    page = PAGE[PAGE.index("## MCP servers") : PAGE.index("## Any LangChain tool")]
    found = re.search(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group(1)


def test_the_file_on_the_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_TOKEN", "sesame-open")
    servers = read_servers(json.loads(_section("json")))
    assert [server.transport for server in servers] == ["stdio", "streamable_http"]
    assert servers[1].headers == {"Authorization": "Bearer sesame-open"}


def test_the_program_on_the_page_gives_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("servers.json").write_text(json.dumps({"odd": odd("well")}), encoding="utf-8")

    def mine() -> str:
        return "mine"

    scope: dict[str, Any] = {"build_graph": build_graph, "mine": mine}
    exec(compile(_section("python"), "tools.md", "exec"), scope)
    assert isinstance(scope["graph"], PlanrailGraph)
    assert scope["graph"].engine.registry.names() == ["good", "mine"]


def test_the_page_tells_every_field() -> None:
    fields = set(ServerConfig.model_fields) - {"name", "transport"}
    assert [field for field in sorted(fields) if f"`{field}`" not in PAGE] == []
