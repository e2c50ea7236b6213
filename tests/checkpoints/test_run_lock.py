"""Run locks: one holder at a time, and none that outlives its process."""

import gc
import os
import signal
import time
import weakref
from pathlib import Path

import pytest

from checkpoints import OpenedStore, RunBusyError, open_store
from tests.checkpoints.support import child, python

HOLD = """
    import time
    from checkpoints import open_store
    opened = open_store(sys.argv[1])
    opened.run_lock("run-1").acquire()
    print("ready", flush=True)
    time.sleep(60)
"""


def free(opened: OpenedStore, run_id: str = "run-1") -> bool:
    try:
        with opened.run_lock(run_id):
            return True
    except RunBusyError:
        return False


def test_a_second_holder_in_the_same_process_is_told_that_the_run_is_busy(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened, opened.run_lock("run-1"):
        with pytest.raises(RunBusyError, match="run 'run-1' is being worked on by another") as failure:
            opened.checkpointer.run_lock("run-1").acquire()
        assert failure.value.run_id == "run-1"


def test_one_lock_object_cannot_be_taken_twice(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened, opened.run_lock("run-1") as lock:
        with pytest.raises(RunBusyError):
            lock.acquire()
        assert not free(opened)


def test_a_lock_that_is_no_longer_referred_to_is_still_held(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        lock = opened.run_lock("run-1")
        lock.acquire()
        reference = weakref.ref(lock)
        del lock
        gc.collect()
        assert not free(opened)
        held = reference()
        assert held is not None
        held.release()
        assert free(opened)


def test_a_lock_is_free_after_the_with(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        with opened.run_lock("run-1"):
            pass
        assert free(opened)


def test_locks_of_different_runs_do_not_meet(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened, opened.run_lock("run-1"):
        assert free(opened, "run-2")


@pytest.mark.parametrize("run_id", ["", "../../x", "a/b", "步骤", "x" * 10_000, "a\x00b", "\ud800", "."])
def test_any_text_names_a_lock_inside_the_folder(tmp_path: Path, run_id: str) -> None:
    with open_store(tmp_path / "runs.db") as opened, opened.run_lock(run_id):
        assert not free(opened, run_id)
        assert {entry.name for entry in tmp_path.iterdir()} <= {
            "runs.db",
            "runs.db-wal",
            "runs.db-shm",
            "runs.db.locks",
        }


def test_another_process_is_told_that_the_run_is_busy(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened, child(HOLD, opened.path):
        assert not free(opened)


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened, child(HOLD, opened.path) as process:
        assert not free(opened)
        process.send_signal(signal.SIGKILL)
        process.wait()
        begin = time.monotonic()
        assert free(opened)
        assert time.monotonic() - begin < 0.5


def test_a_forked_child_does_not_keep_the_lock_of_its_killed_parent(tmp_path: Path) -> None:
    code = """
        import os, time
        from checkpoints import open_store
        opened = open_store(sys.argv[1])
        opened.run_lock("run-1").acquire()
        told, tell = os.pipe()
        forked = os.fork()
        if forked == 0:
            os.write(tell, b"1")
            os.close(1)
            time.sleep(60)
            os._exit(0)
        os.read(told, 1)
        open(sys.argv[2], "w").write(str(forked))
        print("ready", flush=True)
        time.sleep(60)
    """
    with (
        open_store(tmp_path / "runs.db") as opened,
        child(code, opened.path, tmp_path / "forked") as process,
    ):
        assert not free(opened)
        process.send_signal(signal.SIGKILL)
        process.wait()
        forked = int((tmp_path / "forked").read_text())
        try:
            os.kill(forked, 0)
            assert free(opened)
        finally:
            os.kill(forked, signal.SIGKILL)


def test_a_link_to_the_file_shares_its_locks(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    with (
        open_store(tmp_path / "runs.db") as opened,
        opened.run_lock("run-1"),
        open_store(tmp_path / "link.db") as linked,
    ):
        assert not free(linked)


def test_of_two_processes_that_want_a_run_at_once_one_works(tmp_path: Path) -> None:
    code = """
        import os, time
        from checkpoints import RunBusyError, open_store
        opened = open_store(sys.argv[1])
        results = []
        for _ in range(4):
            read, write = os.pipe()
            results.append(read)
            if os.fork() == 0:
                time.sleep(max(0.0, float(sys.argv[2]) - time.time()))
                try:
                    with opened.run_lock("run-1"):
                        time.sleep(0.5)
                        os.write(write, b"worked")
                except RunBusyError:
                    os.write(write, b"busy")
                os._exit(0)
        print(sorted(os.read(read, 10).decode() for read in results))
    """
    printed = python(code, tmp_path / "runs.db", time.time() + 1.5)
    assert printed == "['busy', 'busy', 'busy', 'worked']\n"
