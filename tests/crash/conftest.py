"""The warm process and the folders of killed runs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass
class Warm:
    """Forks children that work on an errand."""

    process: "subprocess.Popen[str]"

    def run(self, jobs: Sequence[dict[str, Any]], kill_after: float | None = None) -> list[int]:
        """Run jobs side by side; the exit code of each, -9 for one that was killed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"jobs": list(jobs), "kill_after": kill_after}) + "\n")
        self.process.stdin.flush()
        codes: list[int] = json.loads(self.process.stdout.readline())
        return codes


@dataclass
class Killable:
    """A run in a folder of its own that processes work on until one of them ends it."""

    warm: Warm
    folder: Path
    idempotent: bool
    kind: str = "errand"

    def job(self, **more: Any) -> dict[str, Any]:
        shared = {"folder": str(self.folder), "idempotent": self.idempotent, "kind": self.kind}
        return {**shared, "result": "result", **more}

    def killed(self, *, kill_at: int | None = None, kill_after: float | None = None) -> bool:
        """One process that is to be killed; False when it came to its end."""
        (code,) = self.warm.run([self.job(kill_at=kill_at, answer=False)], kill_after)
        return code != 0

    def to_the_end(self) -> dict[str, Any]:
        """One process that is left alone."""
        assert self.warm.run([self.job()]) == [0]
        return self.result()

    def result(self, name: str = "result") -> dict[str, Any]:
        result: dict[str, Any] = json.loads((self.folder / name).read_text("utf-8"))
        assert "traceback" not in result, result["traceback"]
        return result


@dataclass
class Swept:
    """A run that was killed, or came to its end before its boundary, and what came of it."""

    run: Killable
    result: dict[str, Any]
    boundary: int
    killed: bool


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tests.crash.warm"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Warm(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def runs(warm: Warm, tmp_path: Path) -> "Runs":
    return Runs(warm, tmp_path)


class Runs:
    """Makes fresh runs."""

    def __init__(self, warm: Warm, folder: Path) -> None:
        self._warm, self._folder, self._numbers = warm, folder, count()

    def killed_at_each_boundary(
        self, kind: str, *, idempotent: bool, stripe: int, stripes: int
    ) -> Iterator["Swept"]:
        """A run for each boundary of a stripe, killed there and gone on with; the last one comes to its end.

        With keys nothing is asked and every third boundary will do.
        """
        for boundary in count(1 + stripe, stripes * (3 if idempotent else 1)):
            run = self.fresh(idempotent=idempotent, kind=kind)
            killed = run.killed(kill_at=boundary)
            yield Swept(run, run.to_the_end() if killed else run.result(), boundary, killed)
            if not killed:
                return

    def killed_again_and_again(
        self, kind: str, *, idempotent: bool, seed: int, times: int, latest: int
    ) -> Iterator["Swept"]:
        """So many runs, each killed four times at random boundaries up to the latest, and gone on with."""
        chance = Random(seed)
        for _ in range(times):
            run = self.fresh(idempotent=idempotent, kind=kind)
            for _ in range(4):
                run.killed(kill_at=chance.randint(1, latest))
            yield Swept(run, run.to_the_end(), 0, killed=True)

    def fresh(self, *, idempotent: bool, kind: str = "errand") -> Killable:
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return Killable(self._warm, folder, idempotent, kind)
