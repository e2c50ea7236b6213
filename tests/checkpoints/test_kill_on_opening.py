"""A process that is killed while it makes the file leaves nothing that keeps the next one from opening it."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkpoints import open_store
from tests.checkpoints.support import ROOT

OPEN_AGAIN_AND_AGAIN = f"""
import sys, pathlib; sys.path.insert(0, {str(ROOT)!r})
from checkpoints import open_store
print("ready", flush=True)
for n in range(10_000):
    folder = pathlib.Path(sys.argv[1], str(n))
    folder.mkdir()
    open_store(folder / "runs.db").store.put(("a",), "k", {{}})
"""


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(5))
def test_a_file_that_a_killed_process_was_making_still_opens(tmp_path: Path, seed: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OPEN_AGAIN_AND_AGAIN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.1 + random.Random(seed).random() / 5)
        process.kill()
    newest = max(int(folder.name) for folder in tmp_path.iterdir())
    for folder in (tmp_path / str(newest), tmp_path / str(max(newest - 1, 0))):
        with open_store(folder / "runs.db") as opened:
            opened.store.put(("a",), "after", {})
            assert opened.store.get(("a",), "after") is not None
