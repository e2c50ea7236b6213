"""Run ids, settings and tool modules that will not do: one clear line with the remedy."""

import pytest

from tests.acceptance.command_line import Inline
from tests.acceptance.support import GOOD, plan, write
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0


def test_a_run_id_is_used_once(inline: Inline, toolbox: Toolbox) -> None:
    first = inline.run(GOOD)
    assert first.code == 0, first.text

    inline.run(GOOD).refused(2, naming="r1")
    inline.run(plan(write("other")), run_id="r1").refused(2, naming="r1")

    assert len(toolbox.calls()) == 2
    assert inline.on("show", "r1", "--json").document["steps"] == first.document["steps"]


def test_the_id_of_a_waiting_run_is_taken_too(inline: Inline, toolbox: Toolbox) -> None:
    assert inline.run(P0).code == 3

    inline.run(P0).refused(2, naming="r1")

    assert len(toolbox.calls()) == 1
    assert inline.on("approve", "r1", "s2").code == 0
    assert len(toolbox.calls("write_file")) == 1


@pytest.mark.parametrize("command", ["resume", "show", "steps", "approve", "reject"])
def test_a_run_nobody_started_is_not_found(inline: Inline, command: str) -> None:
    inline.run(GOOD)
    more = ("--reason", "no") if command == "reject" else ()

    inline.on(command, "ghost", *more).refused(2, naming="ghost")


@pytest.mark.parametrize(
    "setting", ["approve_at=sometimes", "no_such_setting=1", "approve_at", "=high", "scheduling=backwards"]
)
def test_a_setting_that_is_none_is_refused(inline: Inline, toolbox: Toolbox, setting: str) -> None:
    inline.run(GOOD, "--set", setting).refused(2)

    assert toolbox.calls() == []


@pytest.mark.parametrize(
    ("source", "naming"),
    [
        pytest.param("1 / 0", "ZeroDivisionError", id="raises"),
        pytest.param("def (", "", id="no Python"),
        pytest.param("import no_such_module_at_all", "no_such_module_at_all", id="imports nothing"),
        pytest.param("raise SystemExit(0)", "", id="exits"),
        pytest.param("TOOLS = []", "", id="no tools"),
    ],
)
def test_tools_that_cannot_be_loaded_are_refused(inline: Inline, source: str, naming: str) -> None:
    inline.line.toolbox.path.write_text(source, encoding="utf-8")

    inline.run(GOOD).refused(2, naming=naming)


def test_tools_that_are_nowhere_are_refused(inline: Inline, toolbox: Toolbox) -> None:
    path = inline.line.write_plan(GOOD)

    for spec, naming in (
        ("no_such_module", "no_such_module"),
        ("nowhere/tools.py", "nowhere"),
        (f"{toolbox.path}:NOTHING", "NOTHING"),
        ("", ""),
    ):
        inline("run", "--plan", path, "--tools", spec, "--db", "runs.db").refused(2, naming=naming)
