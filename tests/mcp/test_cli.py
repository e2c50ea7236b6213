"""MCP servers on the command line: `--tools mcp:FILE.json`."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Prompt, prompt_in, step
from tests.mcp.support import odd, office, pids_in, wait_until, wait_until_ended

SECRET = "sesame-open"


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return prompt_in(tmp_path, monkeypatch, capsys)


def _servers(prompt: Prompt, name: str = "servers.json", **servers: dict[str, Any]) -> str:
    (prompt.folder / name).write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return f"mcp:{name}"


def _office(prompt: Prompt, **more: Any) -> dict[str, Any]:
    calls, pids = prompt.folder / "calls.txt", prompt.folder / "pids.txt"
    return office(env={"CALLS": str(calls), "PIDS": str(pids), "API_KEY": "${TOKEN:-none-at-all}"}, **more)


def _words(prompt: Prompt, tools: str, *steps: dict[str, Any]) -> list[str]:
    return ["run", "--plan", prompt.plan(*steps), "--tools", tools, "--run-id", "r1"]


def test_a_plan_runs_on_servers_and_on_tools_of_ones_own(prompt: Prompt) -> None:
    tools = _servers(prompt, office=_office(prompt))
    steps = (
        step("find", "find_order", args={"number": "A1"}),
        step("louder", "shout", args={"text": "订单 ${find.number}"}),
        step("keep", "save", args={"text": "${louder}: ${find.amount}"}),
    )
    code, _, err = _spawned(prompt, *_words(prompt, tools, *steps))
    assert code == 0, err
    wait_until_ended(prompt.folder / "pids.txt")
    assert prompt("show", "r1", "--json").document["steps"][1]["output"] == "订单 A1"
    others = _servers(prompt, "others.json", office=_office(prompt, exclude_tools=["save", "nap"]))
    done = prompt(*_words(prompt, f"{others}, mytools.py", *steps), "--db", "others.db", "--json")
    assert done.code == 0
    assert done.document["steps"][2]["output"] == "订单 A1: 19.9"
    assert prompt.calls() == ["find_order", "shout", "save"] * 2


def _spawned(prompt: Prompt, *words: str) -> tuple[int, str, str]:
    with prompt.spawn(*words) as process:
        out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def test_a_destructive_tool_waits_and_is_approved_from_another_folder(
    prompt: Prompt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    tools = _servers(prompt, office=_office(prompt))
    wiping = step("wipe", "wipe", args={"folder": "old"})
    telling = step("tell", "tell_environment", args={"name": "API_KEY"})
    waiting = prompt(*_words(prompt, tools, wiping, telling), "--db", "runs.db")
    assert waiting.code == 3
    assert "wipe" not in prompt.calls()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = prompt("approve", "r1", "wipe", "--json", "--db", str(tmp_path / "runs.db"))
    assert done.code == 0
    assert [row["output"] for row in done.document["steps"]] == ["wiped old", "[redacted]"]
    assert prompt.calls() == ["wipe"]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files if SECRET.encode() in file.read_bytes()] == []
    assert SECRET not in waiting.out + waiting.err + done.out + done.err


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        (
            {"odd": odd("dies", env={"API_KEY": SECRET})},
            "'odd' ended at its start (its last words: cannot start",
        ),
        ({"odd": odd("hangs", start_timeout=0.5)}, "'odd' did not answer within 0.5 s"),
        ({"odd": {"command": "no-such-program"}}, "'odd': there is no program 'no-such-program'"),
        ({"odd": odd("well", env={"KEY": "${NOT_SET}"})}, "needs the environment variable NOT_SET: set it"),
        ({"a": odd("well"), "b": odd("well")}, "both have a tool 'good'"),
    ],
)
def test_servers_that_cannot_be_used_are_one_line_before_anything_runs(
    prompt: Prompt, servers: dict[str, Any], words: str
) -> None:
    said = prompt(*_words(prompt, _servers(prompt, **servers), step("s1", "good", args={"text": "a"})))
    assert said.code == 2
    assert words in said.err
    assert said.err.startswith("error: ")
    assert len(said.err.splitlines()) == 1
    assert SECRET not in said.err
    assert not (prompt.folder / "planrail.db").exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mcp:", "names no file; write mcp:FILE.json"),
        ("mcp:nowhere.json", "there is no file"),
        ("mytools.py,mcp:nowhere.json", "there is no file"),
        ("mytools.py:save,mcp:servers.json", "has a second tool 'save'; rename one"),
    ],
)
def test_a_specification_that_leads_nowhere_says_so(prompt: Prompt, spec: str, words: str) -> None:
    _servers(prompt, office=_office(prompt))
    said = prompt("check", "--plan", prompt.plan(step("s1", "save", args={"text": "a"})), "--tools", spec)
    assert said.code == 2
    assert words in said.err


def test_a_plan_is_checked_against_what_the_server_says_of_its_tools(prompt: Prompt) -> None:
    tools = _servers(prompt, office=_office(prompt))
    said = prompt("check", "--plan", prompt.plan(step("s1", "save", args={"txet": 1})), "--tools", tools)
    assert said.code == 2
    assert "there is no argument 'txet'; did you mean 'text'?" in said.out
    assert prompt.calls() == []


@pytest.mark.crash
def test_interrupts_leave_no_server_behind(prompt: Prompt) -> None:
    pids = prompt.folder / "pids.txt"
    servers = _servers(prompt, office=_office(prompt), odd=odd("stubborn", env={"PIDS": str(pids)}))
    nap = step("s1", "nap", args={"seconds": 600.0}, timeout=900.0)
    with prompt.spawn(*_words(prompt, servers, nap)) as process:
        wait_until(lambda: "begins" in prompt.calls() or process.poll() is not None, "the nap does not begin")
        process.send_signal(signal.SIGINT)
        _read_until(process, "Ctrl-C again")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(pids_in(pids)) == 2
    wait_until_ended(pids)


@pytest.mark.crash
def test_an_interrupt_while_a_server_starts_leaves_none_behind(prompt: Prompt) -> None:
    pids = prompt.folder / "pids.txt"
    servers = _servers(prompt, odd=odd("hangs", env={"PIDS": str(pids)}, start_timeout=300))
    with prompt.spawn(*_words(prompt, servers, step("s1", "good", args={"text": "a"}))) as process:
        wait_until(lambda: bool(pids_in(pids)) or process.poll() is not None, "the server does not start")
        process.send_signal(signal.SIGINT)
        _out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    wait_until_ended(pids)


def _read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return


def test_the_server_that_a_run_is_resumed_on_is_told_of_no_variable_but_its_own(
    prompt: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY_OF_OURS", SECRET)
    tools = _servers(prompt, office=_office(prompt))
    telling = step("tell", "tell_environment", args={"name": "OPENAI_API_KEY_OF_OURS"})
    done = prompt(*_words(prompt, tools, telling), "--json")
    assert os.environ["OPENAI_API_KEY_OF_OURS"] == SECRET
    assert [row["output"] for row in done.document["steps"]] == ["not set"]
