"""What a long map costs: time and memory, over a kill in its middle, each item exactly once."""

import contextlib
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # the distribution has no types
import pytest

from tests.benchmarks.conftest import Figures

ROOT = Path(__file__).parents[2]
ITEMS, AT_ONCE = 10_000, 8
_LOOK_EVERY = 0.01
LIMIT_SECONDS, LIMIT_MEGABYTES = 60.0, 300.0


def _process(folder: Path, tool: str, kill_at: int) -> tuple[int, float, float]:
    """One process on the map: how it ended, its seconds, its largest size in MB."""
    begin = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.map_child",
        str(folder),
        tool,
        str(ITEMS),
        str(kill_at),
    ]
    largest = 0
    with subprocess.Popen(command, cwd=ROOT) as process:
        # Looked at from outside: what the system counts for a child begins with the size of this process.
        seen = psutil.Process(process.pid)
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):
                largest = max(largest, seen.memory_info().rss)
            time.sleep(_LOOK_EVERY)
    return process.returncode, time.perf_counter() - begin, largest / 2**20


@pytest.mark.benchmark
@pytest.mark.parametrize("tool", ["look", "put"])
def test_a_map_of_ten_thousand_items_is_done_in_time_and_in_little_memory(
    tmp_path: Path, figures: Figures, tool: str
) -> None:
    killed = _process(tmp_path, tool, ITEMS // 2)
    ended = _process(tmp_path, tool, 0)
    seconds, megabytes = killed[1] + ended[1], max(killed[2], ended[2])
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for line in (tmp_path / "calls").read_text("utf-8").splitlines():
        number, key = line.split()
        keys[number].append(key)

    figures(f"map of {ITEMS:,} items ({tool}), killed once", f"{seconds:.1f} s", f"{LIMIT_SECONDS:.0f} s")
    figures("  largest size of a process", f"{megabytes:.0f} MB", f"{LIMIT_MEGABYTES:.0f} MB")
    assert (killed[0], ended[0]) == (-9, 0)
    assert len(keys) == ITEMS
    assert all(len(set(found)) == 1 for found in keys.values())
    # What was under way at the kill is made again, a write with the key that it had: calls, and results on
    # their way to the journal, whose places others had by then.
    assert sum(len(found) - 1 for found in keys.values()) <= 2 * AT_ONCE
    assert seconds < LIMIT_SECONDS
    assert megabytes < LIMIT_MEGABYTES
