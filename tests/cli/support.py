"""A user at a prompt: a folder, a module with tools, and `planrail` in this process or in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph.cli import main

ROOT = Path(__file__).resolve().parents[2]

TOOLS = '''
"""Tools of a user; each call appends its name to calls.txt beside this file."""
import time
from pathlib import Path

from tools import OutcomeUnknown, policy


def note(name):
    with Path(__file__).with_name("calls.txt").open("a", encoding="utf-8") as log:
        log.write(f"{name}\\n")


@policy(effect="read")
def look(what: str) -> dict:
    """Look something up."""
    note("look")
    return {"found": what}


@policy(effect="read")
def nap(seconds: float) -> str:
    """Take some time."""
    note("nap")
    time.sleep(seconds)
    return "rested"


@policy(effect="write", idempotent=True)
def save(text: str) -> str:
    """Save a text."""
    note("save")
    return text


@policy(effect="write", idempotent=False)
def transfer(to: str) -> str:
    """Send something away and lose the line."""
    note("transfer")
    raise OutcomeUnknown("the line went dead")


TOOLS = [look, nap, save, transfer]
'''

_FOREIGN = ("OPENAI_", "PLANRAIL_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")


@dataclass(frozen=True)
class Said:
    """What one command returned and wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@dataclass
class Prompt:
    """One user's folder and environment."""

    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Said:
        """Run a command in this process."""
        self.capture.readouterr()
        code = main(words)
        captured = self.capture.readouterr()
        return Said(code, captured.out, captured.err)

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        """Run a command in a process of its own, in a session that signals reach alone."""
        return subprocess.Popen(
            [sys.executable, "-m", "graph.cli", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def plan(self, *steps: Mapping[str, Any], name: str = "plan.json", goal: str = "try it") -> str:
        """Write a plan file and return its name."""
        text = json.dumps({"goal": goal, "steps": steps}, ensure_ascii=False)
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def run(self, *steps: Mapping[str, Any], more: tuple[str, ...] = (), run_id: str = "r1") -> Said:
        return self(*self.run_words(*steps, run_id=run_id), *more)

    def run_words(self, *steps: Mapping[str, Any], run_id: str = "r1") -> list[str]:
        return ["run", "--plan", self.plan(*steps), "--tools", "mytools.py", "--run-id", run_id]

    def calls(self) -> list[str]:
        log = self.folder / "calls.txt"
        return log.read_text("utf-8").split() if log.exists() else []


def step(step_id: str, tool: str, *, args: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": dict(args or {}), **more}


def prompt_in(
    folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], tools: str = TOOLS
) -> Prompt:
    """A user at a prompt in a folder with a module of tools, in this process's environment."""
    clean_environment(patch)
    patch.chdir(folder)
    (folder / "mytools.py").write_text(tools, encoding="utf-8")
    return Prompt(folder, patch, capture)


def clean_environment(patch: pytest.MonkeyPatch) -> None:
    """No key, no setting and no tracing of the machine the tests run on."""
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            patch.delenv(name)
    patch.setenv("NO_COLOR", "1")
