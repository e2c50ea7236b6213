"""Tools that raise anything, give back anything, or never come back."""

import json
import time
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine
from tests.acceptance.support import by_id, plan, statuses, step

ODD_TOOLS = '''
import asyncio
import time
from pathlib import Path

from langchain_core.tools import StructuredTool, ToolException, tool
from tools import policy

HERE = Path(__file__).parent


class Silent(Exception):
    def __str__(self):
        return ""


@policy(effect="read")
@tool
def mcp() -> str:
    """Raise what MCP tools raise."""
    raise ToolException("mcp said no")


@policy(effect="read")
@tool
def value() -> str:
    """Raise a ValueError."""
    raise ValueError("no such value")


@policy(effect="read")
@tool
def key() -> str:
    """Raise a KeyError."""
    return {}["x"]


def _handled() -> str:
    """Raise what the tool itself turns into text."""
    raise ToolException("handled, but no result")


handled = policy(effect="read")(
    StructuredTool.from_function(_handled, name="handled", handle_tool_error=True)
)


@policy(effect="read")
@tool
def leave() -> str:
    """Try to end the process."""
    raise SystemExit(7)


@policy(effect="read")
@tool
def silent() -> str:
    """Raise an exception that says nothing."""
    raise Silent


@policy(effect="read")
@tool
def loud() -> str:
    """Raise an exception that says too much."""
    raise RuntimeError("x" * 2_000_000)


@policy(effect="read")
@tool
def unprintable() -> object:
    """Return what JSON cannot hold."""
    return object()


@policy(effect="read")
@tool
def sibling(text: str) -> str:
    """Do well."""
    (HERE / "sibling").write_text(text)
    return text


@policy(effect="read")
@tool
async def sleeps() -> str:
    """Never come back, in the loop."""
    await asyncio.sleep(3600)


@policy(effect="read")
@tool
def hangs() -> str:
    """Never come back, in a thread."""
    time.sleep(3600)


@policy(effect="read")
@tool
async def blocks() -> str:
    """Block the loop."""
    time.sleep(3)
    return "late"


@policy(effect="read")
@tool
async def stubborn() -> str:
    """Not let itself be cancelled."""
    end = time.monotonic() + 4
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            pass
    return "late"


@policy(effect="read")
@tool
def late() -> str:
    """Come back after the timeout with a file."""
    time.sleep(2)
    (HERE / "late").write_text("late")
    return "late"


TOOLS = [
    mcp, value, key, handled, leave, silent, loud, unprintable, sibling,
    sleeps, hangs, blocks, stubborn, late,
]
'''


@pytest.fixture
def odd(cli: CommandLine) -> CommandLine:
    cli.toolbox.path.write_text(ODD_TOOLS, encoding="utf-8")
    return cli


def test_every_kind_of_exception_is_a_failed_step_with_its_name(odd: CommandLine) -> None:
    expected = {
        "mcp": "mcp said no",
        "value": "no such value",
        "key": "KeyError",
        "handled": "handled, but no result",
        "leave": "SystemExit",
        "silent": "Silent",
        "loud": "RuntimeError",
    }
    steps = [step(name, name, {}, optional=True) for name in expected]

    ran = odd.run(plan(*steps, step("good", "sibling", {"text": "fine"})))

    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["output"] == "fine"
    for name, words in expected.items():
        assert rows[name]["status"] == "failed", name
        assert rows[name]["attempts"] == 1, name
        told = json.dumps(rows[name]["error"])
        assert words in told, told[:500]
        assert len(told) < 20_000, name


def test_a_result_that_json_cannot_hold_loses_no_run(odd: CommandLine) -> None:
    ran = odd.run(
        plan(step("u", "unprintable", {}, optional=True), step("good", "sibling", {"text": "fine"}))
    )

    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["status"] == "succeeded"
    assert rows["u"]["status"] in {"succeeded", "failed"}
    assert rows["u"]["attempts"] == 1


def test_tools_that_never_come_back_are_given_up_and_hold_no_process(
    odd: CommandLine, tmp_path: Path
) -> None:
    names = ("sleeps", "hangs", "stubborn", "late")
    hanging = [step(name, name, {}, timeout=1, max_attempts=1, optional=True) for name in names]
    started = time.monotonic()

    ran = odd.run(plan(step("good", "sibling", {"text": "fine"}), *hanging))

    assert time.monotonic() - started < 30
    assert ran.code == 0, ran.text
    rows = by_id(ran.document)
    assert rows["good"]["status"] == "succeeded"
    for name in names:
        assert rows[name]["status"] == "failed", name
        assert rows[name]["output"] is None, name
        assert "time" in json.dumps(rows[name]["error"]).lower()
    again = odd.on("show", "r1", "--json")
    assert by_id(again.document)["late"]["status"] == "failed"


def test_a_tool_that_blocks_the_loop_past_its_timeout_has_not_succeeded(odd: CommandLine) -> None:
    blocking = step("b", "blocks", {}, timeout=1, max_attempts=1, optional=True)

    ran = odd.run(plan(blocking, step("good", "sibling", {"text": "fine"})))

    assert ran.code == 0, ran.text
    assert statuses(ran.document) == {"b": "failed", "good": "succeeded"}
    assert by_id(ran.document)["b"]["output"] is None
