"""Ids and filters as an attack: nobody else's run is shown."""

from pathlib import Path

import pytest

from tests.acceptance.command_line import Inline
from tests.acceptance.support import build, given, opened, outputs, plan, step, thread
from tests.acceptance.toolbox import Toolbox

STRANGE = [
    "x') OR '1'='1",
    "r1' --",
    "%",
    "100%_",
    "a\nb",
    "é 步",
    "x" * 10_000,
    "",
    "a\x00b",
    "../../r1",
    "*",
]


@pytest.mark.parametrize("name", STRANGE, ids=range(len(STRANGE)))
def test_a_strange_run_id_shows_nobody_elses_run(inline: Inline, toolbox: Toolbox, name: str) -> None:
    assert inline.run(plan(step("s", "plain", {"text": "somebody's secret"})), run_id="r1").code == 0
    made = len(toolbox.calls())

    for command in ("show", "steps", "resume", "approve"):
        told = inline.on(command, name)
        told.refused(2)
        assert "secret" not in told.text

    own = inline.run(plan(step("mine", "plain", {"text": "my own"})), run_id=name)
    if own.code == 0:
        shown = inline.on("show", name, "--json")
        assert outputs(shown.document) == {"mine": "my own"}
        assert len(toolbox.calls()) == made + 1
    else:
        own.refused(2)
        assert len(toolbox.calls()) == made
    assert outputs(inline.on("show", "r1", "--json").document) == {"s": "somebody's secret"}
    assert inline("runs", "--db", str(inline.line.database)).code == 0


def test_filters_and_limits_of_the_saver_and_the_store_are_no_sql(toolbox: Toolbox, tmp_path: Path) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(toolbox, checkpointer=both.checkpointer, store=both.store)
        graph.invoke(given(plan(step("s", "plain", {"text": "secret"}))), thread("theirs"))

        for key in ("x') OR '1'='1", "source' OR 1=1 --", "a\x00b"):
            try:
                found = list(both.checkpointer.list(None, filter={key: "y"}))
            except ValueError:
                found = []
            assert found == []
            try:
                rows = list(both.store.search((), filter={key: "y"}))
            except ValueError:
                rows = []
            assert rows == []
        for name in ("x') OR '1'='1", "%", "theirs' --"):
            assert graph.get_state(thread(name)).values == {}
            assert list(graph.get_state_history(thread(name))) == []
        assert list(both.checkpointer.list(thread("theirs"), limit=1))
