"""How long the command line takes until it has said something; for information, no limit."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkpoints import open_store
from tests.benchmarks.conftest import Figures

ROOT = Path(__file__).parents[2]
ROUNDS = 3


@pytest.mark.benchmark
@pytest.mark.timeout(400)
def test_the_command_line_starts(tmp_path: Path, figures: Figures) -> None:
    database = tmp_path / "runs.db"
    open_store(database).close()
    commands = {
        "python -c pass": ["-c", "pass"],
        "planrail --help": ["-m", "graph.cli", "--help"],
        "planrail runs": ["-m", "graph.cli", "runs", "--db", str(database)],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, args in commands.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, *args], cwd=ROOT, check=True, capture_output=True)
            times[name].append(time.perf_counter() - begin)
    for name, taken in times.items():
        figures(f"start-up: {name}", f"{statistics.median(taken):.2f} s", "-")
