"""What the acceptance tests share: the command line as users start it, a user's tools, scripted models."""

import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from tests.support.models import ScriptedModel, says

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(sys.executable).parent / "planrail"

DOCUMENT_KEYS = {
    "status", "success", "answer", "reason", "plan", "steps", "effects", "replans", "usage", "pending",
}  # fmt: skip
STEP_KEYS = {
    "id", "action", "status", "attempts", "output", "error", "revision", "started_at", "ended_at",
    "idempotency_key",
}  # fmt: skip

TOOLBOX = '''
"""A user's own tools; every call is a line of calls.jsonl beside this file."""
import json
import time
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import tool
from tools import HardToolError, IdempotencyKey, OutcomeUnknown, SoftToolError, policy

LOG = Path(__file__).with_name("calls.jsonl")


def note(name, event="call", **args):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps({"tool": name, "event": event, "at": time.time(), "args": args}) + "\\n")


@policy(effect="read")
@tool
def web_search(query: str) -> dict[str, Any]:
    """Search the web."""
    note("web_search", query=query)
    return {"items": [{"name": "x"}, {"name": "y"}], "count": 3, "query": query}


@tool
@policy(effect="write", idempotent=True)
def write_file(path: str, content: Any, key: Annotated[str, IdempotencyKey]) -> str:
    """Write a file."""
    note("write_file", path=path, content=content, key=key)
    return path


@policy(effect="read")
@tool
def pause(seconds: float, label: str) -> str:
    """Take some time."""
    note("pause", "begin", label=label)
    time.sleep(seconds)
    note("pause", "end", label=label)
    return label


@policy(effect="read")
@tool
def missing(what: str) -> str:
    """Look for what is not there."""
    note("missing", what=what)
    raise HardToolError("not_found", f"there is no {what}")


@policy(effect="read")
@tool
def flaky(times: int, label: str) -> int:
    """Fail some times, then answer."""
    note("flaky", label=label)
    made = sum(json.loads(line)["args"] == {"label": label} for line in LOG.read_text("utf-8").splitlines())
    if made <= times:
        raise SoftToolError("busy, come back later", retry_after=0.01)
    return made


@policy(effect="write", idempotent=False)
@tool
def transfer(to: str) -> str:
    """Send something away and lose the line."""
    note("transfer", to=to)
    raise OutcomeUnknown("the line went dead")


@policy(effect="read")
def plain(text: str) -> str:
    """Say it again; a plain function."""
    note("plain", text=text)
    return text


@tool
def bare(text: str) -> str:
    """Do something nobody has declared a policy for."""
    note("bare", text=text)
    return text


TOOLS = [web_search, write_file, pause, missing, flaky, transfer, plain, bare]
'''


# ---------------------------------------------------------------------------------------------- plans


def step(step_id: str, tool: str, args: Mapping[str, object] | None = None, **more: object) -> dict[str, Any]:
    """A tool step."""
    return {"id": step_id, "action": "tool", "tool": tool, "args": dict(args or {}), **more}


def plan(*steps: Mapping[str, Any], goal: str = "try it out") -> dict[str, Any]:
    """A plan of these steps."""
    return {"goal": goal, "steps": [dict(each) for each in steps]}


def write(step_id: str, content: object = "text", *, risk: str = "low", **more: object) -> dict[str, Any]:
    """A step that writes `content` to a file named after the step."""
    return step(step_id, "write_file", {"path": f"{step_id}.md", "content": content}, risk=risk, **more)


BASE_PLAN = plan(
    step("s1", "web_search", {"query": "q"}, depends_on=[]),
    step(
        "s2", "write_file", {"path": "out.md", "content": "${s1}"},
        depends_on=["s1"], risk="high", require_approval=True,
    ),
    goal="g",
)  # fmt: skip


def by_id(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The step records of an output document by their step's id."""
    rows = document["steps"]
    assert isinstance(rows, list)
    return {row["id"]: row for row in rows}


def statuses(document: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(row["status"]) for name, row in by_id(document).items()}


def outputs(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row["output"] for name, row in by_id(document).items()}


def waiting_steps(document: Mapping[str, Any]) -> set[str]:
    """The steps that an output document says wait for a person."""
    return {str(entry["step"]) for entry in document["pending"]}


def replans(document: Mapping[str, Any]) -> int:
    """How many times the run was replanned."""
    value = document["replans"]
    return len(value) if isinstance(value, list) else int(value)


# ---------------------------------------------------------------------------------------- a user's tools


@dataclass(frozen=True)
class Toolbox:
    """A tool module in a folder of its own, and the calls it has noted."""

    path: Path

    @classmethod
    def written(cls, folder: Path, source: str = TOOLBOX) -> "Toolbox":
        path = folder / f"mytools_{re.sub(r'[^0-9A-Za-z]', '_', folder.name)}.py"
        path.write_text(source, encoding="utf-8")
        return cls(path)

    def calls(self, tool: str | None = None, event: str = "call") -> list[dict[str, Any]]:
        """The arguments of the calls made so far, in order."""
        log = self.path.with_name("calls.jsonl")
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        entries = [json.loads(line) for line in lines]
        if tool is None:
            return [entry["args"] for entry in entries]
        return [entry["args"] for entry in entries if entry["tool"] == tool and entry["event"] == event]

    def moments(self, tool: str, event: str = "call") -> dict[str, float]:
        """When each labelled call was noted."""
        log = self.path.with_name("calls.jsonl")
        entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        return {
            str(entry["args"].get("label", entry["args"].get("query"))): float(entry["at"])
            for entry in entries
            if entry["tool"] == tool and entry["event"] == event
        }

    def load(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def tools(self) -> list[Any]:
        listed: list[Any] = self.load().TOOLS
        return listed


# ------------------------------------------------------------------------------------- the command line


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    def refused(self, *codes: int, naming: str = "") -> str:
        """The one line on stderr of a command that was refused; stdout has no half-made document."""
        assert self.code in (codes or (2,)), self.text
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        assert len(lines[0]) <= 1000
        assert naming.lower() in lines[0].lower(), lines[0]
        assert not self.out.strip() or json.loads(self.out), self.out
        return lines[0]


def _checked(outcome: Outcome) -> Outcome:
    assert "Traceback (most recent call last)" not in outcome.text, outcome.text
    assert "unregistered type" not in outcome.text, outcome.text
    return outcome


@dataclass
class CommandLine:
    """`planrail` for one user: a folder to work in, a run database, a tool module."""

    folder: Path
    toolbox: Toolbox
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.folder / "runs.db"

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("OPENAI_", "PLANRAIL_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "XDG_"))
        }
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "NO_COLOR": "1",
            "TERM": "dumb",
            "COLUMNS": "300",
            **self.extra,
        }

    def write_plan(self, value: object, name: str = "plan.json") -> str:
        """Write a plan file (text and bytes as they are) and return its path."""
        path = self.folder / name
        if isinstance(value, bytes):
            path.write_bytes(value)
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            path.write_text(text, encoding="utf-8", newline="")
        return str(path)

    def run_arguments(self, value: object, *more: str, run_id: str = "r1") -> list[str]:
        return [
            "run", "--plan", self.write_plan(value), "--tools", str(self.toolbox.path),
            "--db", str(self.database), "--run-id", run_id, "--json", *more,
        ]  # fmt: skip

    # --- in a process of its own

    def spawn(self, *args: str, script: bool = False, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [str(SCRIPT)] if script else [sys.executable, "-m", "graph.cli"]
        return subprocess.Popen(
            [*under, *command, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            env=self.environment,
        )

    def __call__(
        self,
        *args: str,
        stdin: str = "",
        script: bool = False,
        timeout: float = 90,
        under: Sequence[str] = (),
    ) -> Outcome:
        with self.spawn(*args, script=script, under=under) as process:
            try:
                out, err = process.communicate(stdin, timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return _checked(Outcome(process.returncode, out, err))

    def run(self, value: object, *more: str, run_id: str = "r1") -> Outcome:
        return self(*self.run_arguments(value, *more, run_id=run_id))

    def on(self, command: str, run_id: str = "r1", *args: str) -> Outcome:
        """A later command about a run, as the help names it: the database is all it has to be told."""
        return self(command, run_id, *args, "--db", str(self.database))


@dataclass
class Inline:
    """The console script's own function in this process: for the many cases that need no process."""

    line: CommandLine
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __call__(self, *args: str, stdin: str | bytes = "") -> Outcome:
        from graph.cli import main

        entry: Callable[[], object] = main
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        with self.patch.context() as patch:
            for name in list(os.environ):
                if name not in self.line.environment:
                    patch.delenv(name)
            for name, value in self.line.environment.items():
                patch.setenv(name, value)
            patch.chdir(self.line.folder)
            patch.setattr(sys, "argv", ["planrail", *args])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
            self.capture.readouterr()
            try:
                result = entry()
            except SystemExit as stop:
                result = stop.code
            captured = self.capture.readouterr()
        if result is None:
            return _checked(Outcome(0, captured.out, captured.err))
        if isinstance(result, int):
            return _checked(Outcome(int(result), captured.out, captured.err))
        return _checked(Outcome(1, captured.out, f"{captured.err}{result}\n"))

    def run(self, value: object, *more: str, run_id: str = "r1") -> Outcome:
        return self(*self.line.run_arguments(value, *more, run_id=run_id))

    def on(self, command: str, run_id: str = "r1", *args: str) -> Outcome:
        return self(command, run_id, *args, "--db", str(self.line.database))


# ---------------------------------------------------------------------------------------------- models


def planner(*replies: Any) -> ScriptedModel:
    """A planner whose replies are these texts, or these objects as JSON."""
    return says(*replies)


class Endpoint:
    """An OpenAI-compatible endpoint on loopback that counts what it is asked."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.asked: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked = json.dumps(body.get("messages"), ensure_ascii=False)
                endpoint.asked.append(asked)
                reply = answer(asked)
                frame = {"id": "c", "created": 0, "model": "m"}
                if body.get("stream"):
                    delta = {"role": "assistant", "content": reply}
                    choice = {"index": 0, "delta": delta, "finish_reason": "stop"}
                    chunk = {**frame, "object": "chat.completion.chunk", "choices": [choice]}
                    self._send("text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n")
                    return
                message = {"role": "assistant", "content": reply}
                usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                whole = {**frame, "object": "chat.completion", "choices": choices, "usage": usage}
                self._send("application/json", json.dumps(whole))

            def _send(self, kind: str, text: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        return {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-acceptance-secret"}

    def __enter__(self) -> "Endpoint":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


# ------------------------------------------------------------------------------------------ the Python API


def build(toolbox: Toolbox | list[Any], **more: Any) -> Any:
    """The graph over a user's tools, as `build_graph` gives it."""
    from graph.build import build_graph

    tools = toolbox.tools() if isinstance(toolbox, Toolbox) else toolbox
    return build_graph(tools=tools, **more)


def opened(path: Path) -> Any:
    """The run database as `open_store` gives it: both `with` and `async with` take it."""
    from checkpoints import open_store

    return open_store(str(path))


def given(value: Mapping[str, Any]) -> dict[str, Any]:
    """The graph's input for a plan of the caller's own."""
    return {"goal": value["goal"], "plan": dict(value)}


def thread(name: str = "t1", recursion_limit: int | None = None) -> RunnableConfig:
    """The config that names a run."""
    config: RunnableConfig = {"configurable": {"thread_id": name}}
    if recursion_limit is not None:
        config["recursion_limit"] = recursion_limit
    return config
