"""Fallbacks of writes: only when nothing happened."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from tests.limits.support import House, rows, run, step, thread
from tools import HardToolError, OutcomeUnknown, SoftToolError, policy


class Mails:
    """Two ways to send a mail, one the fallback of the other."""

    def __init__(self, *, idempotent: bool = False, risk: str = "low") -> None:
        self.sent: list[str] = []
        self.fault: BaseException = SoftToolError("busy")
        self.fields = {"effect": "write", "idempotent": idempotent, "risk": risk, "backoff_base": 0}

    def tools(self) -> list[Any]:
        @policy(**self.fields, max_attempts=2, fallback="send_slowly")
        async def send(text: str) -> str:
            """Send a mail."""
            raise self.fault

        @policy(**self.fields)
        async def send_slowly(text: str) -> str:
            """Send a mail some other way."""
            self.sent.append(text)
            return "sent"

        return [send, send_slowly]


MAIL = step("a", "send", args={"text": "hello"})


@pytest.mark.parametrize("fault", [SoftToolError("busy"), HardToolError("full", "mailbox full")])
def test_a_write_that_did_not_happen_falls_back(tmp_path: Path, fault: Exception) -> None:
    mails = Mails()
    mails.fault = fault
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        document = run(graph, MAIL)

    assert document["status"] == "succeeded"
    assert mails.sent == ["hello"]
    assert [(e["tool"], e["status"]) for e in document["effects"]] == [("send_slowly", "succeeded")]


@pytest.mark.parametrize("idempotent", [True, False])
@pytest.mark.parametrize(
    "fault", [TimeoutError("no answer"), OutcomeUnknown("sent?"), ValueError("a bug on the way back")]
)
def test_a_write_that_may_have_happened_does_not(tmp_path: Path, fault: Exception, idempotent: bool) -> None:
    mails = Mails(idempotent=idempotent)
    mails.fault = fault
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        document = run(graph, MAIL)

    assert mails.sent == []
    assert rows(document)["a"]["status"] in ("unknown", "failed")


def test_a_write_that_a_person_approved_is_no_other_tools(tmp_path: Path) -> None:
    mails = Mails(risk="high")
    house = House(tmp_path / "runs.db", mails.tools())

    with house.opened() as graph:
        asked = run(graph, MAIL)
        document = graph.invoke(Command(resume={"a": "approve"}), thread())

    assert asked["pending"][0]["tool"] == "send"
    assert rows(document)["a"]["status"] == "failed"
    assert mails.sent == []


KILLED = """
import os, sys
from typing import Annotated
from checkpoints import open_store
from graph.build import build_graph
from tools import IdempotencyKey, SoftToolError, policy

@policy(effect="write", idempotent=True, risk="low", backoff_base=0, max_attempts=1, fallback="send_slowly")
async def send(text: str, key: Annotated[str, IdempotencyKey]) -> str:
    "Send."
    with open(sys.argv[2], "a") as log:
        print("send", file=log)
    raise SoftToolError("busy")

@policy(effect="write", idempotent={idempotent}, risk="low", backoff_base=0)
async def send_slowly(text: str, key: Annotated[str, IdempotencyKey]) -> str:
    "Send otherwise."
    with open(sys.argv[2], "a") as log:
        print("slowly", key, file=log)
    if sys.argv[3] == "die":
        os.kill(os.getpid(), 9)
    return "sent"

steps = [{{"id": "a", "action": "tool", "tool": "send", "args": {{"text": "hello"}}}}]
given = {{"goal": "g", "plan": {{"goal": "g", "steps": steps}}}} if sys.argv[3] == "die" else None
with open_store(sys.argv[1]) as opened:
    graph = build_graph(tools=[send, send_slowly], checkpointer=opened.checkpointer, store=opened.store)
    document = graph.invoke(given, {{"configurable": {{"thread_id": "t"}}}})
    print(document["steps"][0]["status"])
"""


@pytest.mark.crash
@pytest.mark.parametrize(("idempotent", "ends"), [(True, "succeeded"), (False, "unknown")])
def test_a_fallbacks_write_is_taken_up_after_a_kill_by_the_fallback_alone(
    tmp_path: Path, idempotent: bool, ends: str
) -> None:
    script, log = tmp_path / "child.py", tmp_path / "log"
    script.write_text(textwrap.dedent(KILLED).format(idempotent=idempotent))

    def child(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), str(tmp_path / "runs.db"), str(log), how]
        root = Path(__file__).parents[2]
        return subprocess.run(
            command, check=False, cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True
        )

    assert child("die").returncode == -9
    again = child("resume")

    assert again.stdout.strip() == ends, again.stderr
    lines = log.read_text().splitlines()
    assert lines[0] == "send"
    assert len(lines) == (3 if idempotent else 2)
    assert len(set(lines[1:])) == 1  # one key
