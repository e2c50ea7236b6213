"""Databases that are missing, foreign, locked or shared: one clear line, and no result lost."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, Inline
from tests.acceptance.support import GOOD, by_id, outputs, plan, step, write
from tests.acceptance.toolbox import Toolbox


def test_a_database_in_a_missing_folder_is_refused(inline: Inline, toolbox: Toolbox) -> None:
    inline.run(GOOD, "--db", "nowhere/deep/runs.db").refused(2, 4, naming="nowhere")

    assert toolbox.calls() == []
    assert not (inline.line.folder / "nowhere").exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"these are notes, no database\n" * 200, id="text"),
        pytest.param(b"SQLite format 3\x00", id="cut"),
    ],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    inline: Inline, toolbox: Toolbox, content: bytes
) -> None:
    inline.line.database.write_bytes(content)

    inline.run(GOOD).refused(2, 4, naming="runs.db")
    inline.on("show").refused(2, 4, naming="runs.db")

    assert toolbox.calls() == []
    assert inline.line.database.read_bytes() == content


def test_a_folder_is_no_database(inline: Inline, toolbox: Toolbox) -> None:
    inline.line.database.mkdir()

    inline.run(GOOD).refused(2, 4, naming="runs.db")

    assert toolbox.calls() == []


def test_a_database_of_a_newer_format_is_refused_and_left_alone(inline: Inline, toolbox: Toolbox) -> None:
    assert inline.run(GOOD).code == 0
    with closing(sqlite3.connect(inline.line.database)) as base:
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if version == 0:
            pytest.skip("the format's version is not kept in user_version")
        base.execute("PRAGMA user_version = 1000000")
        base.commit()
    made = len(toolbox.calls())

    told = inline.run(GOOD, run_id="r2").refused(2, 4)

    assert any(word in told.lower() for word in ("newer", "version", "format"))
    assert len(toolbox.calls()) == made


def _without_root_rights() -> Sequence[str]:
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may write everywhere, and setpriv is not here to take that away")
    return (setpriv, "--bounding-set=-dac_override,-dac_read_search")


def test_a_plan_file_without_the_right_to_read_it_is_refused(cli: CommandLine, toolbox: Toolbox) -> None:
    under = _without_root_rights()
    arguments = cli.run_arguments(GOOD)
    (cli.folder / "plan.json").chmod(0)

    cli(*arguments, under=under).refused(2, naming="plan.json")

    assert toolbox.calls() == []


def test_a_read_only_database_is_refused(cli: CommandLine, toolbox: Toolbox, tmp_path: Path) -> None:
    under = _without_root_rights()
    arguments = cli.run_arguments(GOOD)
    locked = tmp_path / "locked"
    locked.mkdir()
    database = locked / "runs.db"
    with closing(sqlite3.connect(database)) as base:
        base.execute("PRAGMA journal_mode = WAL")
    database.chmod(0o444)
    locked.chmod(0o555)
    try:
        cli(*arguments, "--db", str(database), under=under).refused(2, 4, naming="locked")
    finally:
        locked.chmod(0o755)

    assert toolbox.calls() == []


def _hold(database: Path, seconds: float, held: threading.Event, release: threading.Event) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as base:
        base.execute("BEGIN IMMEDIATE")
        held.set()
        release.wait(seconds)
        base.execute("ROLLBACK")


def _held(database: Path, seconds: float) -> tuple[threading.Thread, threading.Event]:
    held, release = threading.Event(), threading.Event()
    holder = threading.Thread(target=_hold, args=(database, seconds, held, release))
    holder.start()
    assert held.wait(10)
    return holder, release


def test_a_database_that_another_holds_for_some_seconds_is_waited_for(inline: Inline) -> None:
    assert inline.run(GOOD, run_id="before").code == 0
    holder, _release = _held(inline.line.database, 3)

    ran = inline.run(GOOD)

    holder.join()
    assert ran.code == 0, ran.text
    assert outputs(ran.document)["s1"]["count"] == 3


def test_a_database_that_another_never_gives_back_is_busy_in_bounded_time(
    inline: Inline, toolbox: Toolbox
) -> None:
    assert inline.run(GOOD, run_id="before").code == 0
    made = len(toolbox.calls())
    holder, release = _held(inline.line.database, 100)
    started = time.monotonic()
    try:
        told = inline.run(GOOD)
    finally:
        release.set()
        holder.join()

    assert time.monotonic() - started < 60
    assert "busy" in told.refused(4).lower() or "locked" in told.err.lower()
    assert len(toolbox.calls()) == made
    after = inline.run(GOOD)
    assert after.code == 0, after.text
    assert len(toolbox.calls()) == made + 2


def test_a_lock_that_comes_in_the_middle_loses_no_result(inline: Inline, toolbox: Toolbox) -> None:
    three = plan(
        step("s1", "pause", {"seconds": 0.5, "label": "a"}),
        step("s2", "pause", {"seconds": 0.5, "label": "${s1}b"}),
        write("s3", "${s2}"),
    )
    assert inline.run(GOOD, run_id="before").code == 0

    def hold_when_started() -> None:
        while not toolbox.calls("pause", "begin"):
            time.sleep(0.02)
        holder, _release = _held(inline.line.database, 3)
        holder.join()

    watcher = threading.Thread(target=hold_when_started)
    watcher.start()
    ran = inline.run(three)
    watcher.join()

    assert ran.code == 0, ran.text
    assert by_id(ran.document)["s3"]["status"] == "succeeded"
    assert [each["label"] for each in toolbox.calls("pause", "begin")] == ["a", "ab"]


def test_two_processes_may_start_on_one_new_database(cli: CommandLine, toolbox: Toolbox) -> None:
    both = [cli.spawn(*cli.run_arguments(GOOD, run_id=name)) for name in ("one", "two")]
    ended = [(process.communicate(timeout=90), process.returncode) for process in both]

    assert [code for _texts, code in ended] == [0, 0], ended
    assert len(toolbox.calls()) == 4


def test_two_processes_that_start_one_run_id_make_one_run(cli: CommandLine, toolbox: Toolbox) -> None:
    both = [cli.spawn(*cli.run_arguments(GOOD)) for _ in range(2)]
    ended = [(process.communicate(timeout=90), process.returncode) for process in both]

    codes = sorted(code for _texts, code in ended)
    assert codes in ([0, 2], [0, 4]), ended
    assert len(toolbox.calls()) == 2
