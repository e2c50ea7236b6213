"""The store of kept results: what may go goes, what cannot be read is not there."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints import KeptResult, ResultCache, open_store
from checkpoints.result_cache import INDEX, MAX_RESULT_BYTES, RESULTS, overdue
from tests.limits.support import NOON, House, step, wish
from tools import ToolPolicy, ToolRegistry, policy
from tools.cache import cache_key

Found = list[tuple[str, dict[str, Any]]]
INDEXES = st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 40)), max_size=12).map(
    lambda found: [
        (f"k{n}", {"until": (NOON + timedelta(seconds=until)).isoformat(), "bytes": size})
        for n, (until, size) in enumerate(found)
    ]
)


@given(INDEXES, st.integers(0, 6), st.integers(0, 100))
def test_what_stays_is_in_time_within_bounds_and_the_longest_lived(
    found: Found, most: int, most_bytes: int
) -> None:
    gone = set(overdue(found, NOON, most=most, most_bytes=most_bytes))

    stays = [(entry["until"], entry["bytes"]) for key, entry in found if key not in gone]
    dropped = [entry["until"] for key, entry in found if key in gone and entry["until"] > NOON.isoformat()]
    assert all(until > NOON.isoformat() for until, _ in stays)
    assert len(stays) <= most
    assert sum(size for _, size in stays) <= most_bytes
    assert not stays or max(dropped, default="") <= min(until for until, _ in stays)
    fitting = [entry for _, entry in found if entry["until"] > NOON.isoformat()]
    if len(fitting) <= most and sum(entry["bytes"] for entry in fitting) <= most_bytes:
        assert not dropped


async def test_results_are_cleaned_up_when_a_run_ends(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        cache = ResultCache(opened.store)
        await cache.put("old", KeptResult(1, NOON), NOON + timedelta(seconds=1))
        await cache.put("new", KeptResult({"价格": [None, 2**70]}, NOON), NOON + timedelta(seconds=9))
        await cache.clean_up(NOON + timedelta(seconds=1))

        assert await cache.get("old") is None
        assert await cache.get("new") == KeptResult({"价格": [None, 2**70]}, NOON)
        for place in (RESULTS, INDEX):
            assert [item.key for item in await opened.store.asearch(place)] == ["new"]


async def test_a_result_that_is_too_large_is_not_kept(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        cache = ResultCache(opened.store)
        assert not await cache.put("k", KeptResult("x" * MAX_RESULT_BYTES, NOON), NOON)
        assert await cache.get("k") is None


@pytest.mark.parametrize(
    "stored",
    [
        {"format": 99, "at": NOON.isoformat(), "output": 1},
        {"at": NOON.isoformat(), "output": 1},
        {"format": 1, "output": 1},
        {"format": 1, "at": "yesterday", "output": 1},
        {"format": 1, "at": NOON.isoformat()},
    ],
    ids=["newer", "no format", "no time", "odd time", "no output"],
)
async def test_what_cannot_be_read_is_called_for_again(tmp_path: Path, stored: dict[str, Any]) -> None:
    with open_store(tmp_path / "runs.db") as opened:
        await opened.store.aput(RESULTS, "k", stored, index=False)
        assert await ResultCache(opened.store).get("k") is None


def test_many_results_of_one_run_leave_what_is_still_of_use(tmp_path: Path) -> None:
    @policy(effect="read", cache_ttl=60, cache_scope="shared")
    async def square(n: int) -> int:
        """Multiply a number with itself."""
        return n * n

    house = House(tmp_path / "runs.db", [square])
    for name in ("r1", "r2"):
        with house.opened() as graph:
            plan = wish(*(step(f"s{n}", "square", args={"n": n + 3 * (name == "r2")}) for n in range(3)))
            graph.invoke(plan, {"configurable": {"thread_id": name}})
        house.clock.move(60)

    with open_store(house.path) as opened:
        assert len(opened.store.search(RESULTS)) == 3
        assert len(opened.store.search(INDEX)) == 3


async def _one(sku: str, n: int = 1, tags: list[str] | None = None) -> None:
    """Do nothing."""


async def _two(sku: str, n: int = 1, tags: list[str] | None = None) -> None:
    """Do nothing."""


READ = ToolPolicy(effect="read", cache_ttl=5)
TOOLS = ToolRegistry.of(_one, _two, policies={"_one": READ, "_two": READ})


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"sku": "a", "n": 1}, {"n": 1, "sku": "a"}, True),
        ({"sku": "a"}, {"sku": "a", "n": 1}, True),
        ({"sku": "a", "tags": ["x"]}, {"sku": "a", "tags": '["x"]'}, True),
        ({"sku": "1"}, {"sku": 1}, False),
        ({"sku": 1}, {"sku": True}, False),
        ({"sku": "a", "n": 1}, {"sku": "a", "n": "1"}, False),
        ({"sku": "茶"}, {"sku": "荼"}, False),
        ({"sku": "a", "tags": ["x", "y"]}, {"sku": "a", "tags": ["y", "x"]}, False),
    ],
)
def test_two_calls_are_the_same_when_the_tool_is_given_the_same(first: Any, second: Any, same: bool) -> None:
    tool = TOOLS["_one"]
    assert (cache_key(tool, first, "s") == cache_key(tool, second, "s")) is same


def test_tools_scopes_and_other_code_of_the_same_name_share_nothing() -> None:
    def other() -> Any:
        async def _one(sku: str, n: int = 1, tags: list[str] | None = None) -> None:
            """Do nothing."""

        return _one

    elsewhere = ToolRegistry.of(other(), policies={"_one": READ})["_one"]
    schema = READ.model_copy(update={"output_schema": {"type": "null"}})
    stricter = ToolRegistry.of(_one, policies={"_one": schema})["_one"]
    args = {"sku": "a"}
    keys = [
        cache_key(TOOLS["_one"], args, "s"), cache_key(TOOLS["_two"], args, "s"),
        cache_key(TOOLS["_one"], args, "t"), cache_key(elsewhere, args, "s"), cache_key(stricter, args, "s"),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
