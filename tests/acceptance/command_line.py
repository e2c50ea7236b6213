"""The command line as users start it, in a process of its own or in this one."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.toolbox import Toolbox

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(sys.executable).parent / "planrail"


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


def kill(process: subprocess.Popen[str]) -> None:
    """End a process as the operating system does when memory runs out."""
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


def outcome_of(process: subprocess.Popen[str]) -> Outcome:
    """What a process did that ends by itself."""
    out, err = process.communicate(timeout=90)
    assert "Traceback (most recent call last)" not in err, err
    return Outcome(process.returncode, out, err)
