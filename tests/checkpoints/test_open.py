"""Opening the file: what is made, what is taken over, and what is refused before anything is touched."""

import gc
import os
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from checkpoints import StoreError, StoreFormatError, StoreUnavailableError, open_store
from tests.checkpoints.support import checkpoint, command, python


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def sqlite_file(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def test_a_new_file_holds_checkpointer_and_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        opened.store.put(("a",), "k", {"v": 1})
        item = opened.store.get(("a",), "k")
        assert item is not None
        assert item.value == {"v": 1}
    assert names(tmp_path) == {"runs.db", "runs.db.locks"}


async def test_the_store_opens_in_an_async_with(tmp_path: Path) -> None:
    async with open_store(str(tmp_path / "runs.db")) as opened:
        await opened.store.aput(("a",), "k", {"v": 1})
        assert opened.path == (tmp_path / "runs.db").resolve()


def test_what_was_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        opened.store.put(("a",), "k", {"v": 1})
    with open_store(tmp_path / "runs.db") as opened:
        assert opened.store.get(("a",), "k") is not None


def test_the_same_file_can_be_open_twice(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as one, open_store(tmp_path / "runs.db") as two:
        one.store.put(("a",), "k", {"v": 1})
        assert two.store.get(("a",), "k") is not None


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "runs.db").touch()
    with open_store(tmp_path / "runs.db") as opened:
        opened.store.put(("a",), "k", {"v": 1})


def test_a_missing_folder_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"folder .*missing does not exist; create it"):
        open_store(tmp_path / "missing" / "runs.db")
    assert names(tmp_path) == set()


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=r"is a folder; pass the path of a file"):
        open_store(tmp_path)
    assert names(tmp_path) == set()


@pytest.mark.parametrize("path", ["", ":memory:", "a\x00b"])
def test_a_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(StoreUnavailableError, match="is not the path of a database file"):
        open_store(path)


@pytest.mark.parametrize("content", [b"x", b"hello world, this is text\n" * 99, b"SQLite format 2\x00" * 50])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(
        StoreUnavailableError, match="is not a SQLite database; pass the path of another file"
    ):
        open_store(path)
    assert path.read_bytes() == content
    assert names(tmp_path) == {"notes.txt"}


def test_a_file_that_only_begins_like_a_database_is_reported_as_one_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    with pytest.raises(StoreUnavailableError) as failure:
        open_store(path)
    assert "\n" not in str(failure.value)


def test_a_pipe_is_no_database(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreUnavailableError, match="not a regular file"):
        open_store(tmp_path / "pipe")


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(["CREATE TABLE orders (id)"], id="other tables"),
        pytest.param(["PRAGMA application_id=7"], id="another program's mark"),
        pytest.param(
            ["CREATE TABLE store (id)", "PRAGMA application_id=7"], id="mark and a like-named table"
        ),
    ],
)
def test_another_programs_database_is_left_alone(tmp_path: Path, statements: list[str]) -> None:
    path = sqlite_file(tmp_path / "shop.db", *statements)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailableError, match="belongs to another program"):
        open_store(path)
    assert path.read_bytes() == before
    assert names(tmp_path) == {"shop.db"}


def test_a_database_of_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(path).close()
    sqlite_file(path, "PRAGMA user_version=2")
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match=r"has format 2, this version reads up to 1; upgrade planrail"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_database_of_langgraphs_own_saver_is_taken_over(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "old.db")) as saver:
        saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint(a=1), {}, {})
    with open_store(tmp_path / "old.db") as opened:
        found = opened.checkpointer.get_tuple({"configurable": {"thread_id": "t"}})
        assert found is not None
        assert found.checkpoint["channel_values"] == {"a": 1}
        opened.store.put(("a",), "k", {"v": 1})


def test_a_log_left_by_a_deleted_database_does_not_reach_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    code = """
        import os
        from checkpoints import open_store
        opened = open_store(sys.argv[1])
        opened.store.put(("a",), "k", {"v": "old"})
        os._exit(0)
    """
    python(code, path)
    assert (tmp_path / "runs.db-wal").exists()
    path.unlink()
    with open_store(path) as opened:
        assert opened.store.get(("a",), "k") is None
        opened.store.put(("a",), "k", {"v": "new"})


def test_what_a_killed_first_opening_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "runs.db.new").write_bytes(b"half a database")
    (tmp_path / "runs.db.new-wal").write_bytes(b"half a log")
    with open_store(tmp_path / "runs.db") as opened:
        opened.store.put(("a",), "k", {"v": 1})
    assert names(tmp_path) == {"runs.db", "runs.db.locks"}


def test_processes_that_open_a_fresh_file_at_once_all_succeed(tmp_path: Path) -> None:
    code = """
        import time
        from checkpoints import open_store
        time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
        with open_store(sys.argv[1]) as opened:
            opened.store.put(("a",), sys.argv[3], {"v": 1})
    """
    start = time.time() + 3
    children = [subprocess.Popen(command(code, tmp_path / "runs.db", start, n)) for n in range(4)]
    assert [process.wait(timeout=60) for process in children] == [0, 0, 0, 0]
    with open_store(tmp_path / "runs.db") as opened:
        assert len(opened.store.search(("a",))) == 4


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("readonly", ["file", "folder", "secret folder"])
def test_a_read_only_place_is_refused_before_anything_is_made(readonly: str) -> None:
    code = """
        import os, pathlib
        from checkpoints import StoreUnavailableError, open_store
        os.chdir("/")
        os.setuid(65534)
        try:
            open_store(sys.argv[1])
        except StoreUnavailableError as error:
            print(error)
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        if readonly == "file":
            open_store(folder / "runs.db").close()
            (folder / "runs.db").chmod(0o444)
            folder.chmod(0o777)
        if readonly == "secret folder":
            folder.chmod(0o700)
        before = names(folder)
        reason = "cannot be reached" if readonly == "secret folder" else "read-only; make it"
        assert reason in python(code, folder / "runs.db")
        assert names(folder) == before


def test_links_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(StoreUnavailableError, match="pass another"):
        open_store(tmp_path / "a")


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    opened = open_store(tmp_path / "runs.db")
    opened.close()
    opened.close()
    with pytest.raises(StoreUnavailableError, match="is closed; open it again"):
        opened.store.get(("a",), "k")


def test_a_store_that_came_over_a_fork_says_so_instead_of_hanging(tmp_path: Path) -> None:
    code = """
        import os
        from checkpoints import StoreUnavailableError, open_store
        opened = open_store(sys.argv[1])
        if os.fork() == 0:
            try:
                opened.store.get(("a",), "k")
            except StoreUnavailableError as error:
                print(error, flush=True)
            opened.close()
            os._exit(0)
        os.wait()
        opened.store.put(("a",), "k", {})
        opened.close()
    """
    assert "opened before this process was forked" in python(code, tmp_path / "runs.db")


def test_a_store_that_nobody_closes_neither_blocks_nor_warns_at_exit(tmp_path: Path) -> None:
    code = """
        from checkpoints import open_store
        opened = open_store(sys.argv[1])
        opened.store.put(("a",), "k", {})
        print("end")
    """
    assert python(code, tmp_path / "runs.db") == "end\n"


def test_a_store_that_is_dropped_ends_its_thread(tmp_path: Path) -> None:
    opened = open_store(tmp_path / "runs.db")
    thread = opened._worker._thread
    del opened
    gc.collect()
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_every_error_has_a_code_and_one_base() -> None:
    kinds = StoreError.__subclasses__()
    assert sorted(kind.code for kind in kinds) == [
        "bad_run_id",
        "run_busy",
        "store_busy",
        "store_format",
        "store_unavailable",
    ]
