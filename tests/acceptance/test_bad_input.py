"""Bad input: one clear line with the remedy, before any tool is called, and never a traceback."""

import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.support import (
    BASE_PLAN,
    CommandLine,
    Inline,
    Toolbox,
    build,
    by_id,
    given,
    outputs,
    plan,
    step,
    thread,
    write,
)

GOOD = plan(step("s1", "web_search", {"query": "q"}), write("s2", "${s1.count}"))
P0 = json.dumps(BASE_PLAN, ensure_ascii=False)


# --------------------------------------------------------------------------------------- plan files


@pytest.mark.parametrize(
    ("content", "naming"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("not a plan", "", id="prose"),
        pytest.param(P0[: len(P0) // 2], "", id="cut off"),
        pytest.param(b"\xff\xfe\x00\x01\x80", "", id="binary"),
        pytest.param(b'{"goal": "caf\xe9", "steps": []}', "", id="latin-1"),
        pytest.param("[1, 2]", "", id="a list"),
        pytest.param("null", "", id="null"),
        pytest.param("3", "", id="a number"),
        pytest.param('{"goal": "g"}', "steps", id="no steps"),
        pytest.param('{"goal": "g", "steps": []}', "", id="empty steps"),
        pytest.param('{"goal": "g", "steps": {"s1": 1}}', "steps", id="steps as an object"),
        pytest.param('{"goal": "g", "steps": [1]}', "steps", id="a step as a number"),
        pytest.param("[" * 200_000, "", id="too deep"),
        pytest.param('{"goal": "g", "steps": ' + "[" * 5000 + "]" * 5000 + "}", "", id="too deep but closed"),
        pytest.param(plan(step("s1", "web_serch", {"query": "q"})), "web_serch", id="unknown tool"),
        pytest.param(plan(step("s1", "web_search", {})), "query", id="missing argument"),
        pytest.param(
            plan(step("s1", "web_search", {"query": "q", "colour": 1})), "colour", id="extra argument"
        ),
        pytest.param(plan(write("s1", risk="reckless")), "risk", id="unknown risk"),
        pytest.param(plan(write("s1", require_approval="yes")), "require_approval", id="yes for a flag"),
        pytest.param(plan(write("s1", on_dependency_failure="maybe")), "on_dependency_failure", id="policy"),
        pytest.param(plan(write("s1", timeout=-1)), "timeout", id="negative timeout"),
        pytest.param(plan(write("s1", max_attempts=0)), "max_attempts", id="no attempts"),
        pytest.param(plan(write("s1", "${nowhere.x}")), "nowhere", id="reference to nothing"),
        pytest.param(plan(write("s1", "${1 +}")), "s1", id="broken expression"),
        pytest.param(plan(write("s1", "${s1.x}")), "s1", id="reference to itself"),
        pytest.param(plan({"id": "s1", "action": "dance"}), "dance", id="unknown action"),
        pytest.param(plan({"id": "s1", "action": "tool"}), "tool", id="no tool"),
        pytest.param('{"goal": "\\ud800", "steps": []}', "", id="half a character"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(
    inline: Inline, toolbox: Toolbox, content: object, naming: str
) -> None:
    inline.run(content).refused(2, naming=naming)

    assert toolbox.calls() == []


def test_a_plan_file_that_cannot_be_read_is_named(inline: Inline, toolbox: Toolbox) -> None:
    arguments = ("--tools", str(toolbox.path), "--db", "runs.db", "--json")

    inline("run", "--plan", "nowhere.json", *arguments).refused(2, naming="nowhere.json")
    (inline.line.folder / "folder.json").mkdir()
    inline("run", "--plan", "folder.json", *arguments).refused(2, naming="folder.json")
    inline("run", "--plan", "", *arguments).refused(2)
    inline("run", "--plan", "-", *arguments).refused(2)
    inline("run", "--plan", "-", *arguments, stdin=b"\xff\xfe").refused(2)


def test_a_refusal_is_the_same_in_a_process_of_its_own(cli: CommandLine, toolbox: Toolbox) -> None:
    cyclic = plan(
        step("a", "web_search", {"query": "q"}, depends_on=["b"]),
        step("b", "web_search", {"query": "q"}, depends_on=["a"]),
    )

    line = cli.run(cyclic).refused(2, naming="cycle")

    assert "a" in line
    assert "b" in line
    assert toolbox.calls() == []


def test_a_refused_plan_leaves_the_run_id_free(inline: Inline, toolbox: Toolbox) -> None:
    inline.run(plan(step("s1", "web_serch", {}))).refused(2)

    assert inline.run(GOOD).code == 0
    assert len(toolbox.calls("web_search")) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(P0.replace("}]}", "},]}"), id="trailing comma"),
        pytest.param(str(BASE_PLAN), id="single quotes"),
        pytest.param(P0.replace('"query": "q"', '"query": "q", "x": None'), id="None"),
        pytest.param(P0.replace('"steps"', '/* c */ "steps"'), id="comment"),
        pytest.param("\ufeff" + P0, id="byte order mark"),
        pytest.param(P0.replace(', "steps"', '， "steps"'), id="full-width comma"),
        pytest.param(P0.replace('"goal": "g"', "“goal”: “g”"), id="smart quotes"),
        pytest.param(json.dumps(P0), id="encoded twice"),
    ],
)
def test_a_dialect_of_json_is_read_as_the_same_plan_or_refused(
    inline: Inline, toolbox: Toolbox, text: str
) -> None:
    ran = inline.run(text)

    if ran.code == 2:
        ran.refused(2)
        assert toolbox.calls() == []
        return
    assert ran.code == 3, ran.text
    shown = ran.document["plan"]
    assert shown["goal"] == "g"
    assert [(each["id"], each["tool"]) for each in shown["steps"]] == [
        ("s1", "web_search"),
        ("s2", "write_file"),
    ]
    assert toolbox.calls("web_search") == [{"query": "q"}]


def test_full_width_punctuation_inside_a_value_survives(inline: Inline, toolbox: Toolbox) -> None:
    text = "你好，世界“引号”：完"

    assert inline.run(plan(write("s1", text))).code == 0
    assert toolbox.calls("write_file")[0]["content"] == text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(inline: Inline, toolbox: Toolbox, number: str) -> None:
    text = json.dumps(plan(write("s1", "NUMBER"))).replace('"NUMBER"', number)

    inline.run(text).refused(2)
    assert toolbox.calls() == []


def test_half_a_character_in_an_argument_harms_nothing(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(json.dumps(plan(write("s1", "\ud800"), step("s2", "web_search", {"query": "q"}))))

    if ran.code == 2:
        assert toolbox.calls() == []
    else:
        assert ran.document["status"] in {"succeeded", "failed", "partial"}
        assert by_id(ran.document)["s2"]["status"] == "succeeded"


# ------------------------------------------------------------------------------------------- goals

GOALS = [
    pytest.param("", id="empty"),
    pytest.param(" \n\t ", id="blank"),
    pytest.param("x" * 1_000_000, id="1 MB"),
    pytest.param("a\x00b", id="NUL"),
]


@pytest.mark.parametrize("goal", GOALS)
def test_a_goal_nobody_can_work_on_is_refused(inline: Inline, toolbox: Toolbox, goal: str) -> None:
    path = inline.line.write_plan(GOOD, "good.json")
    arguments = ("--tools", str(toolbox.path), "--db", "runs.db", "--json")

    inline.run({**GOOD, "goal": goal}).refused(2, naming="goal")
    inline("run", goal, "--plan", path, *arguments).refused(2, naming="goal")
    inline("run", goal, *arguments).refused(2, naming="goal")

    assert toolbox.calls() == []


def test_neither_goal_nor_plan_is_refused(inline: Inline, toolbox: Toolbox) -> None:
    inline("run", "--tools", str(toolbox.path), "--db", "runs.db").refused(2, naming="--plan")


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("own_plan", [True, False], ids=["with a plan", "alone"])
def test_the_graph_refuses_such_a_goal_too(toolbox: Toolbox, goal: str, *, own_plan: bool) -> None:
    graph = build(toolbox)

    with pytest.raises(Exception, match=r"(?i)goal") as caught:
        graph.invoke({"goal": goal, "plan": {**GOOD, "goal": goal} if own_plan else None})

    assert type(caught.value).__name__ in {"InputError", "PlanError"}
    assert len(str(caught.value)) < 2000
    assert toolbox.calls() == []


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"goal": "g", "steps": []}, id="empty"),
        pytest.param({"goal": "g", "steps": [step("s1", "web_serch", {})]}, id="unknown tool"),
        pytest.param([1, 2], id="a list"),
        pytest.param("{", id="text"),
    ],
)
def test_the_graph_refuses_a_wrong_plan_by_name(toolbox: Toolbox, wrong: Any) -> None:
    with pytest.raises(Exception, match=r"\S") as caught:
        build(toolbox).invoke({"goal": "g", "plan": wrong})

    assert type(caught.value).__name__ in {"InputError", "PlanError"}
    assert toolbox.calls() == []


# --------------------------------------------------------------------------------- run ids, options


def test_a_run_id_is_used_once(inline: Inline, toolbox: Toolbox) -> None:
    first = inline.run(GOOD)
    assert first.code == 0, first.text

    inline.run(GOOD).refused(2, naming="r1")
    inline.run(plan(write("other")), run_id="r1").refused(2, naming="r1")

    assert len(toolbox.calls()) == 2
    assert inline.on("show", "r1", "--json").document["steps"] == first.document["steps"]


def test_the_id_of_a_waiting_run_is_taken_too(inline: Inline, toolbox: Toolbox) -> None:
    assert inline.run(BASE_PLAN).code == 3

    inline.run(BASE_PLAN).refused(2, naming="r1")

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


# ------------------------------------------------------------------------------------- the database


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


def test_the_same_plan_as_a_dict_is_taken_by_the_graph(toolbox: Toolbox) -> None:
    result = build(toolbox).invoke(given(GOOD), thread())

    assert result["status"] == "succeeded"
