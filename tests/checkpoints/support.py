"""What the tests of the stored runs share."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from checkpoints import RunEntry, StepEntry
from graph.plan.statuses import RunStatus, StepStatus

ROOT = Path(__file__).parents[2]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def step(step_id: str = "s1", **changes: Any) -> StepEntry:
    values = {
        "run_id": "run-1",
        "plan_id": "plan-1",
        "revision": 1,
        "step_id": step_id,
        "action": "tool",
        "tool": "query_order",
        "effect": "read",
        "status": StepStatus.SUCCEEDED,
    }
    return StepEntry.model_validate(values | changes)


def run(run_id: str = "run-1", **changes: Any) -> RunEntry:
    values = {
        "run_id": run_id,
        "goal": "g",
        "status": RunStatus.RUNNING,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return RunEntry.model_validate(values | changes)


def checkpoint(**values: Any) -> Checkpoint:
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": dict.fromkeys(values, 1)}


def command(code: str, *arguments: object) -> list[str]:
    prelude = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    return [sys.executable, "-c", prelude + textwrap.dedent(code), *map(str, arguments)]


def python(code: str, *arguments: object, **options: Any) -> str:
    """Run code in a process of its own and return what it printed."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command(code, *arguments), capture_output=True, text=True, timeout=60, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run code in a process of its own until it has printed a line; it is killed at the end."""
    with subprocess.Popen(command(code, *arguments), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            yield process
        finally:
            process.kill()


class FailingStore(InMemoryStore):
    """A store in memory that keeps what each write was and fails as often as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[list[str]] = []
        self.failures = 0

    async def abatch(self, ops: Any) -> list[Any]:
        wanted = list(ops)
        written = [op.key for op in wanted if hasattr(op, "value")]
        if written and self.failures:
            self.failures -= 1
            raise OSError("no space left")
        if written:
            self.writes.append(written)
        return await super().abatch(wanted)


def stored_keys(store: BaseStore, namespace: tuple[str, ...]) -> set[str]:
    return {item.key for item in store.search(namespace, limit=10_000)}
