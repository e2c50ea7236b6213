"""A real MCP server over stdio: its tools in plans, its annotations as policies."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from graph.build import build_graph
from graph.plan import PlanError
from tests.acceptance.command_line import CommandLine
from tests.acceptance.support import given, opened, outputs, plan, statuses, step, thread
from tests.acceptance.toolbox import Toolbox
from tests.acceptance4.support import code, each, inner
from tools.mcp import mcp_tools

SERVER = str(Path(__file__).with_name("desk_server.py"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("desk") / "calls.txt"


@pytest.fixture
def calls(log: Path) -> Path:
    log.unlink(missing_ok=True)
    return log


def config(calls: Path, **more: Any) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": [SERVER, str(calls)], "start_timeout": 90, **more}
    return {"mcpServers": {"desk": entry}}


@pytest.fixture(scope="module")
def tools(log: Path) -> Iterator[Any]:
    with mcp_tools(config(log)) as made:
        yield made


def noted(calls: Path) -> list[str]:
    return calls.read_text("utf-8").splitlines() if calls.exists() else []


def test_structured_results_fallbacks_and_maps(tools: Any, calls: Path) -> None:
    graph = build_graph(tools=tools)
    value = plan(
        step("w", "weather", {"city": "北京"}),
        step("r", "remember", {"text": "${w.city}: ${w.degrees}"}),
        step("bad", "weather", {"city": "nowhere"}, fallback={"tool": "weather", "args": {"city": "Rome"}}),
        each("m", ["Oslo", "nowhere"], inner("weather", {"city": "${item}"}), min_success=1),
    )  # fmt: skip

    result = graph.invoke(given(value))

    assert result["status"] == "succeeded", result["reason"]
    assert outputs(result)["w"] == {"city": "北京", "degrees": 21.5}
    assert outputs(result)["bad"]["city"] == "Rome"
    assert outputs(result)["m"]["results"] == [{"city": "Oslo", "degrees": 21.5}, None]
    assert noted(calls).count("weather nowhere") == 2, "what a tool reports is hard: it is not tried again"
    assert "remember 北京: 21.5" in noted(calls)


@pytest.mark.parametrize("name", ["forget", "unsaid"])
def test_what_destroys_or_says_nothing_of_itself_waits_for_a_person(
    tools: Any, calls: Path, tmp_path: Path, name: str
) -> None:
    with opened(tmp_path / "r.db") as both:
        graph = build_graph(tools=tools, checkpointer=both.checkpointer, store=both.store)
        waiting = graph.invoke(given(plan(step("a", name, {"text": "x"}))), thread())

        assert waiting["status"] == "waiting"
        assert noted(calls) == []

        done = graph.invoke(Command(resume={"a": "approve"}), thread())

    assert done["status"] == "succeeded", done
    assert noted(calls) == [f"{name} x"]


def test_a_server_that_is_not_believed_writes_with_every_tool(calls: Path, tmp_path: Path) -> None:
    with mcp_tools(config(calls, trust_annotations=False)) as made, opened(tmp_path / "r.db") as both:
        graph = build_graph(tools=made, checkpointer=both.checkpointer, store=both.store)

        waiting = graph.invoke(given(plan(step("a", "weather", {"city": "x"}))), thread())

    assert waiting["status"] == "waiting"
    assert noted(calls) == []


async def test_the_same_tools_in_an_event_loop(calls: Path) -> None:
    async with mcp_tools(config(calls)) as made:
        graph: Any = build_graph(tools=made)
        result = await graph.ainvoke(given(plan(step("w", "weather", {"city": "Rome"}))))

    assert outputs(result)["w"]["city"] == "Rome"


def test_wrong_arguments_are_found_before_anything_runs(tools: Any, calls: Path) -> None:
    with pytest.raises(PlanError, match="town"):
        build_graph(tools=tools).invoke(given(plan(step("w", "weather", {"town": "Rome"}))))
    assert noted(calls) == []


def test_a_failed_lookup_tells_the_servers_reason(tools: Any) -> None:
    result = build_graph(tools=tools, settings={"max_replans": 0}).invoke(
        given(plan(step("w", "weather", {"city": "nowhere"})))
    )

    assert statuses(result)["w"] == "failed"
    assert code(result, "w")
    assert "there is no such city" in result["reason"]


def test_on_the_command_line_beside_own_tools(tmp_path: Path, calls: Path) -> None:
    line = CommandLine(tmp_path, Toolbox.written(tmp_path))
    file = tmp_path / "servers.json"
    file.write_text(json.dumps(config(calls)), "utf-8")
    value = plan(
        step("w", "weather", {"city": "Rome"}),
        step("s", "web_search", {"query": "${w.degrees} in ${w.city}"}),
    )

    ended = line(
        "run", "--plan", line.write_plan(value), "--tools", f"{line.toolbox.path},mcp:{file}",
        "--db", str(line.database), "--json",
    )  # fmt: skip

    assert ended.code == 0, ended.text
    assert line.toolbox.calls("web_search") == [{"query": "21.5 in Rome"}]


def test_a_server_that_does_not_start_is_one_clear_line(tmp_path: Path) -> None:
    line = CommandLine(tmp_path, Toolbox.written(tmp_path))
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"gone": {"command": "no-such-program-here"}}}), "utf-8")

    ended = line(
        "run", "--plan", line.write_plan(plan(step("s", "web_search", {"query": "x"}))), "--json",
        "--tools", f"{line.toolbox.path},mcp:{file}", "--db", str(line.database),
    )  # fmt: skip

    assert "gone" in ended.refused(2)
    assert line.toolbox.calls() == []
