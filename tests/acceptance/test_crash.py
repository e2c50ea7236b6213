"""Killed at any moment, resumed until done: nothing lost, nothing twice. On the demo shop's real tables."""

import contextlib
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from tests.acceptance.command_line import CommandLine, Outcome, kill, outcome_of
from tests.acceptance.support import plan, statuses, step

pytestmark = pytest.mark.crash
ORDERS = ("A1234", "A1235")
WRITES = {"refund_A1234", "reply_A1234", "refund_A1235", "reply_A1235"}


def _errand(order: str) -> list[dict[str, Any]]:
    """Six steps on one order, two of them writes, one after the other."""
    about = {"order_id": order}
    return [
        step(f"order_{order}", "query_order", about),
        step(f"way_{order}", "query_logistics", about, depends_on=[f"order_{order}"]),
        step(
            f"refund_{order}", "issue_refund", {**about, "amount": 1},
            depends_on=[f"way_{order}"], on_dependency_failure="abort",
        ),
        step(f"check_{order}", "query_order", about, depends_on=[f"refund_{order}"]),
        step(f"reply_{order}", "send_reply", {**about, "text": "We are sorry."}, depends_on=[f"way_{order}"]),
        step(f"last_{order}", "query_logistics", about, depends_on=[f"reply_{order}"]),
    ]  # fmt: skip


TWELVE = plan(*_errand(ORDERS[0]), *_errand(ORDERS[1]), goal="make up for two late orders")


class Shop:
    """The shop's database, and a user who runs a plan on it."""

    def __init__(self, cli: CommandLine, *, idempotent: bool) -> None:
        self.cli = cli
        self.path = cli.folder / "shop.db"
        cli.extra["PLANRAIL_SHOP_DB"] = str(self.path)
        if not idempotent:
            cli.extra["PLANRAIL_SHOP_IDEMPOTENT"] = "0"

    @property
    def start(self) -> list[str]:
        return [
            "run", "--plan", self.cli.write_plan(TWELVE), "--tools", "tools.shop", "--run-id", "r1",
            "--db", str(self.cli.database), "--set", "approve_at=never", "--json",
        ]  # fmt: skip

    @property
    def resume(self) -> list[str]:
        return ["resume", "r1", "--db", str(self.cli.database), "--json"]

    def effects(self) -> Counter[str]:
        """How often each write has really happened, by the step that makes it."""
        seen: Counter[str] = Counter()
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)) as base:
            for table, kind in (("refunds", "refund"), ("outbox", "reply")):
                for (order,) in base.execute(f"SELECT order_id FROM {table}"):
                    if order in ORDERS:
                        seen[f"{kind}_{order}"] += 1
        return seen

    def happened(self) -> int:
        """The number of effects so far, while the shop may not be there yet."""
        with contextlib.suppress(sqlite3.Error):
            return self.effects().total()
        return 0


def _database_mark(cli: CommandLine) -> tuple[int, ...]:
    with contextlib.suppress(FileNotFoundError):
        return tuple(path.stat().st_mtime_ns for path in sorted(cli.folder.glob("runs.db*")))
    return ()


def _until_done(shop: Shop, command: list[str]) -> Outcome:
    """Resume until the run has ended; a run that was killed before it was written down starts anew."""
    for _ in range(3):
        ended = shop.cli(*command)
        if ended.code != 2:
            return ended
        assert "r1" in ended.err
        command = shop.start
    raise AssertionError(ended.text)


def _killed_at_random(shop: Shop, chance: random.Random, kills: int) -> Outcome:
    """Kill the run some milliseconds after it has begun to write, a few times, then let it end."""
    command = shop.start
    for _ in range(kills):
        before = _database_mark(shop.cli)
        process = shop.cli.spawn(*command)
        limit = time.monotonic() + 60
        while process.poll() is None and _database_mark(shop.cli) == before and time.monotonic() < limit:
            time.sleep(0.001)
        time.sleep(chance.choice((0.0, 0.02, 0.1)) + chance.uniform(0, 0.25))
        if process.poll() is None:
            kill(process)
            command = shop.resume
            continue
        ended = outcome_of(process)
        if ended.code != 2:
            return ended
        command = shop.start
    return _until_done(shop, command)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_every_write_happens_exactly_once(cli: CommandLine, seed: int) -> None:
    shop = Shop(cli, idempotent=True)

    ended = _killed_at_random(shop, random.Random(seed), kills=3)

    assert ended.code == 0, ended.text
    assert set(statuses(ended.document).values()) == {"succeeded"}
    assert shop.effects() == Counter(WRITES)
    assert len(ended.document["effects"]) == 4


@pytest.mark.parametrize("seed", range(2))
def test_writes_that_cannot_be_repeated_are_never_called_twice(cli: CommandLine, seed: int) -> None:
    shop = Shop(cli, idempotent=False)

    ended = _killed_at_random(shop, random.Random(100 + seed), kills=2)

    assert ended.code in {0, 3}, ended.text
    told, seen = statuses(ended.document), shop.effects()
    assert max(seen.values(), default=0) <= 1
    for name in WRITES:
        assert told[name] in {"succeeded", "unknown", "pending", "waiting", "skipped", "cancelled"}
        if told[name] == "succeeded":
            assert seen[name] == 1
        elif told[name] != "unknown":
            assert seen[name] == 0
    unsure = {name for name in WRITES if told[name] == "unknown"}
    assert unsure == {str(each["step"]) for each in ended.document["pending"]}
    assert (ended.code == 3) is bool(unsure)


@pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])
def test_killed_right_after_an_effect(cli: CommandLine, *, idempotent: bool) -> None:
    shop = Shop(cli, idempotent=idempotent)
    process = shop.cli.spawn(*shop.start)
    limit = time.monotonic() + 60
    while process.poll() is None and not shop.happened() and time.monotonic() < limit:
        time.sleep(0.0005)
    if process.poll() is None:
        kill(process)
    else:
        outcome_of(process)

    ended = _until_done(shop, shop.resume)

    seen = shop.effects()
    assert max(seen.values()) == 1
    if idempotent:
        assert ended.code == 0, ended.text
        assert seen == Counter(WRITES)
    else:
        assert ended.code in {0, 3}, ended.text
        told = statuses(ended.document)
        assert all(told[name] in {"succeeded", "unknown"} for name in seen)
