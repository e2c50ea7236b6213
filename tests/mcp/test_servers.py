"""Servers that are started: sessions, their ends, and what is left of them."""

import asyncio
import gc
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.mcp.support import (
    call,
    is_alive,
    odd,
    office,
    only,
    pids_in,
    wait_until,
    wait_until_ended,
)
from tools import CallFailed, CallSucceeded, RegisteredTool, ToolLoadError, ToolRegistry
from tools.mcp import mcp_tools

ROOT = Path(__file__).resolve().parents[2]


def _registry(tools: object) -> dict[str, RegisteredTool]:
    return dict(ToolRegistry.of(*tools))  # type: ignore[misc]


async def test_a_real_server_is_called_and_its_results_are_data() -> None:
    async with mcp_tools({"office": office()}) as tools:
        found = _registry(tools)
        assert await call(found["find_order"], number="A1") == CallSucceeded({"number": "A1", "amount": 19.9})
        assert await call(found["shout"], text="你好 ok") == CallSucceeded("你好 OK")
        assert await call(found["raw"], text='{"a": 1}') == CallSucceeded('{"a": 1}')
        assert await call(found["nothing"]) == CallSucceeded(None)
        picture = await call(found["picture"])
        assert isinstance(picture, CallSucceeded)
        assert picture.output == [
            {"type": "text", "text": "a picture"},
            {"type": "image", "base64": "iVBORw==", "mime_type": "image/png"},
        ]
        failed = await call(found["fail"], reason="no such customer")
        assert isinstance(failed, CallFailed)
        assert (failed.kind, failed.code) == ("hard", "tool_error")
        assert "no such customer" in failed.message
        odd_names = await call(
            found["odd_names"], config="c", run_manager="r", self="s", arguments="a", type="tool_call"
        )
        assert odd_names == CallSucceeded("c r a tool_call")


async def test_calls_share_one_session_and_a_dead_server_is_started_again(tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    async with mcp_tools({"office": office(env={"CALLS": str(calls)})}) as tools:
        found = _registry(tools)
        assert [await call(found["count"]) for _ in range(2)] == [CallSucceeded(1), CallSucceeded(2)]
        reading = await call(found["die_reading"])
        assert await call(found["count"]) == CallSucceeded(1)
        writing = await call(found["die_writing"])
        assert await call(found["count"]) == CallSucceeded(1)
    assert isinstance(reading, CallFailed)
    assert isinstance(writing, CallFailed)
    assert (reading.kind, writing.kind) == ("soft", "unknown")
    assert reading.code == writing.code == "connection_error"
    assert calls.read_text("utf-8").split() == ["die_reading", "die_writing"]


async def test_a_server_that_left_between_two_calls_is_no_failure() -> None:
    async with mcp_tools({"odd": odd("leaves")}) as tools:
        tool = only(tools)
        connection = tool.tool.server.link._connection  # type: ignore[attr-defined]
        await asyncio.to_thread(wait_until, lambda: connection._session._write_stream._closed, "it stays")
        assert await call(tool, text="a") == CallSucceeded("a")


def test_one_list_serves_many_loops_and_threads_and_callers_without_either() -> None:
    with mcp_tools({"office": office()}) as tools:
        found = _registry(tools)
        outcomes = [asyncio.run(call(found["count"])) for _ in range(2)]
        thread = threading.Thread(target=lambda: outcomes.append(asyncio.run(call(found["count"]))))
        thread.start()
        thread.join()
        assert outcomes == [CallSucceeded(1), CallSucceeded(2), CallSucceeded(3)]
        assert found["count"].tool.invoke({}) == 4


async def test_calls_run_side_by_side(tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    async with mcp_tools({"office": office(env={"CALLS": str(calls)})}) as tools:
        nap = _registry(tools)["nap"]
        napping = asyncio.gather(*(call(nap, timeout=60, seconds=600.0) for _ in range(3)))
        await asyncio.to_thread(wait_until, lambda: _count(calls, "begins") == 3, "naps wait for each other")
        napping.cancel()
        await asyncio.to_thread(wait_until, lambda: _count(calls, "cancelled") == 3, "nobody told the server")


def _count(calls: Path, word: str) -> int:
    return calls.read_text("utf-8").split().count(word) if calls.exists() else 0


async def test_a_call_out_of_time_is_told_to_the_server_and_the_session_goes_on(tmp_path: Path) -> None:
    calls = tmp_path / "calls.txt"
    async with mcp_tools({"office": office(env={"CALLS": str(calls)})}) as tools:
        found = _registry(tools)
        assert await call(found["count"]) == CallSucceeded(1)
        late = await call(found["nap"], timeout=0.3, seconds=600.0)
        assert isinstance(late, CallFailed)
        assert (late.kind, late.code) == ("soft", "timeout")
        assert await call(found["count"]) == CallSucceeded(2)
        await asyncio.to_thread(wait_until, lambda: _count(calls, "cancelled") == 1, "nobody told the server")


UNDER_WATCH = """
import asyncio, json, sys
from blockbuster import BlockBuster
import tools.mcp.toolset
from tools import ToolRegistry, call_tool
from tools.mcp import mcp_tools

async def main():
    async with mcp_tools({"odd": json.loads(sys.argv[1])}) as tools:
        (tool,) = ToolRegistry.of(*tools).values()
        print(await call_tool(tool, {"text": "fine"}, key="k"))

BlockBuster().activate()
asyncio.run(main())
"""


def test_nothing_blocks_an_event_loop_as_servers_with_many_runs_insist() -> None:
    command = [sys.executable, "-c", UNDER_WATCH, json.dumps(odd("well"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "fine" in done.stdout, done.stderr


# --- ends ---


def test_servers_end_with_their_block_even_one_that_ignores_it(tmp_path: Path) -> None:
    pids = tmp_path / "pids.txt"
    servers = {mode: odd(mode, env={"PIDS": str(pids)}, prefix=True) for mode in ("stubborn", "well")}
    with mcp_tools(servers) as tools:
        assert len(tools) == len(pids_in(pids)) == 2
    assert not any(map(is_alive, pids_in(pids)))
    closed = asyncio.run(call(next(iter(_registry(tools).values())), text="x"))
    assert isinstance(closed, CallFailed)
    assert (closed.kind, closed.code) == ("hard", "mcp_closed")
    tools.close()


def test_servers_end_when_nobody_holds_their_tools(tmp_path: Path) -> None:
    pids = tmp_path / "pids.txt"
    tools = mcp_tools({"odd": odd("well", env={"PIDS": str(pids)})})
    found = _registry(tools)
    del tools
    gc.collect()
    assert asyncio.run(call(found["good"], text="a")) == CallSucceeded("a")
    del found
    gc.collect()
    wait_until_ended(pids)


def test_nothing_is_started_before_the_tools_are_looked_at(tmp_path: Path) -> None:
    pids = tmp_path / "pids.txt"
    tools = mcp_tools({"odd": odd("well", env={"PIDS": str(pids)})})
    assert pids_in(pids) == []
    assert [tool.name for tool in tools] == ["good"]
    assert len(pids_in(pids)) == 1
    tools.close()


PROGRAM = """
import json, os, signal, sys
from tools.mcp import mcp_tools
tools = mcp_tools(json.loads(sys.argv[1]))
print([tool.name for tool in tools], flush=True)
match sys.argv[2]:
    case "end":
        pass
    case "exit":
        os._exit(0)
    case "wait":
        sys.stdin.read()
"""


@pytest.mark.crash
@pytest.mark.parametrize("ending", ["end", "exit", "kill"])
def test_no_server_outlives_the_program_however_that_ends(tmp_path: Path, ending: str) -> None:
    pids = tmp_path / "pids.txt"
    servers = {mode: odd(mode, env={"PIDS": str(pids)}, prefix=True) for mode in ("stubborn", "well")}
    command = [sys.executable, "-c", PROGRAM, json.dumps(servers), "wait" if ending == "kill" else ending]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert "stubborn_good" in process.stdout.readline()
        if ending == "kill":
            process.kill()
        process.wait(60)
    wait_until_ended(pids)


# --- servers that cannot be used ---


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            odd("dies", env={"API_KEY": "sesame-open"}),
            r"'odd' ended at its start \(its last words: cannot start",
        ),
        (odd("hangs", start_timeout=0.5), r"'odd' did not answer within 0\.5 s"),
        (odd("garbage", start_timeout=0.5), r"'odd' did not answer within 0\.5 s"),
        (odd("endless_pages"), "'odd' cannot list its tools: they fill more than"),
        ({"command": "no-such-program"}, "'odd': there is no program 'no-such-program'; install it"),
        ({"command": "./no-such-program"}, "there is no program"),
        ({"command": sys.executable, "cwd": "/no/such/folder"}, "there is no folder /no/such/folder"),
        ({"command": sys.executable, "args": ["-c", "raise SystemExit(0)"]}, "'odd' ended at its start$"),
        ({"url": "http://127.0.0.1:9/mcp"}, "'odd' cannot be reached: ConnectError"),
    ],
)
async def test_a_server_that_cannot_be_used_is_one_line_that_names_it(
    entry: dict[str, object], words: str, tmp_path: Path
) -> None:
    pids = tmp_path / "pids.txt"
    servers = {"odd": entry, "well": odd("well", env={"PIDS": str(pids)}, prefix=True)}
    with pytest.raises(ToolLoadError, match=words) as caught:
        async with mcp_tools(servers):
            pass
    assert "\n" not in str(caught.value)
    assert "sesame" not in str(caught.value)
    for pid in pids_in(pids):
        assert not is_alive(pid)


QUIET = """
import json, logging, sys
logging.basicConfig()
from tools.mcp import mcp_tools
try:
    len(mcp_tools(json.loads(sys.argv[1])))
except Exception as error:
    print(error)
"""


def test_the_sdks_tracebacks_are_in_nobodys_log() -> None:
    servers = {"odd": odd("garbage", start_timeout=0.5)}
    command = [sys.executable, "-c", QUIET, json.dumps(servers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


async def test_a_tool_that_cannot_be_used_is_named_and_the_others_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with mcp_tools({"odd": odd("bad_tools")}) as tools:
        assert [tool.name for tool in tools] == ["good"]
        assert await call(only(tools), text="a") == CallSucceeded("a")
    said = [record.getMessage() for record in caplog.records if record.name == "planrail.mcp"]
    assert len(said) == 6
    for name in ("no_schema", "no_type", "far_away", "nowhere", "bad_output"):
        assert any(f"tool {name!r} of MCP server 'odd' cannot be used" in line for line in said)


async def test_a_list_in_pages_is_read_to_its_end() -> None:
    async with mcp_tools({"odd": odd("pages")}) as tools:
        assert [tool.name for tool in tools] == ["good_0", "good_1", "good_2"]


async def test_arguments_that_only_branches_of_the_schema_know_can_be_given() -> None:
    async with mcp_tools({"odd": odd("branches")}) as tools:
        tool = only(tools)
        assert await call(tool, text="a") == CallSucceeded("a")
        assert [name for name, _ in tool.args_problems({"txet": "a"})] == ["txet"]
