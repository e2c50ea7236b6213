"""Records: whatever JSON a step takes and gives comes back exactly, and what cannot be read says why."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from checkpoints import RunEntry, RunIdError, StepEntry, StoreFormatError, check_run_id, open_store
from checkpoints.entries import to_stored
from checkpoints.keys import label
from checkpoints.packing import pack, record, set_aside, unpack
from graph.plan.json_values import JSON
from graph.plan.statuses import StepStatus
from tests.checkpoints.support import NOON, run, step

ANY_TEXT = st.text(st.characters(codec=None, categories=["Cs", "Cc", "L", "N", "P", "S", "Z"]))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)
AWKWARD: list[JSON] = [
    2**70,
    -(2**63),
    1.0,
    -0.0,
    1e300,
    float("inf"),
    "half \ud800",
    "NUL \x00",
    "NaN",
    {"$json": "x", "format": 99},
    {"": {"a.b": [True, 1, 1.0, "1", None]}},
    "步骤 🙂 \u2028",
    "9" * 40,
]


def nested(levels: int) -> JSON:
    value: JSON = "deep"
    for _ in range(levels):
        value = [value]
    return value


@pytest.fixture(scope="module", params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
        return
    with open_store(tmp_path_factory.mktemp("entries") / "runs.db") as opened:
        yield opened.store


def there_and_back(store: BaseStore, data: dict[str, Any]) -> dict[str, Any]:
    store.put(("t",), "k", pack(data), index=False)
    item = store.get(("t",), "k")
    assert item is not None
    return unpack(item.value, "it")


@given(value=ANY_JSON)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_comes_back_exactly(store: BaseStore, value: JSON) -> None:
    assert repr(there_and_back(store, {"format": 1, "value": value})["value"]) == repr(value)


@pytest.mark.parametrize(
    "value", [*AWKWARD, nested(400), [nested(60)] * 300], ids=lambda value: repr(value)[:20]
)
def test_awkward_json_comes_back_exactly(store: BaseStore, value: JSON) -> None:
    assert repr(there_and_back(store, {"format": 1, "value": value})["value"]) == repr(value)


def test_ordinary_data_is_stored_readable_and_not_as_text() -> None:
    data = {"format": 1, "value": {"a": [1, 2.5, "x" * 500, {"b": None}] * 20}}
    assert pack(data) is data


@given(value=ANY_JSON, limit=st.integers(0, 200))
@settings(deadline=None)
def test_only_values_beyond_the_limit_are_set_aside_and_their_text_holds_them(
    value: JSON, limit: int
) -> None:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    aside = set_aside(value, limit)
    assert (aside is not None) == (size > limit)
    if aside is not None:
        ref, text = aside
        assert (ref.bytes, len(ref.preview) <= 200) == (size, True)
        assert repr(json.loads(text)) == repr(value)
        text.encode()


def test_equal_values_have_one_digest_and_different_ones_two() -> None:
    values: list[JSON] = [[1], [1], [1.0], ["1"], [True], {"a": 1}, {"a": [1]}]
    digests = {aside[0].digest for value in values if (aside := set_aside(value, 0)) is not None}
    assert len(digests) == 6


ENTRIES = st.builds(
    StepEntry,
    run_id=st.just("run-1"),
    plan_id=ANY_TEXT,
    revision=st.integers(1, 9),
    step_id=ANY_TEXT,
    item=st.none() | st.integers(0, 9),
    action=st.just("tool"),
    tool=st.none() | ANY_TEXT,
    effect=st.sampled_from([None, "read", "write"]),
    status=st.sampled_from(StepStatus),
    attempts=st.integers(0, 5),
    input=ANY_JSON,
    output=ANY_JSON,
    note=ANY_TEXT,
    started_at=st.none() | st.datetimes().map(lambda time: time.replace(tzinfo=UTC, fold=0)),
    approval=ANY_JSON,
)


@given(entry=ENTRIES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_step_entry_comes_back_equal(store: BaseStore, entry: StepEntry) -> None:
    assert repr(record(StepEntry, there_and_back(store, to_stored(entry)), "it")) == repr(entry)


def test_times_are_kept_in_utc_and_must_say_their_zone() -> None:
    entry = step(started_at="2026-03-01T14:00:00+02:00")
    assert entry.started_at == NOON
    assert entry.started_at is not None
    assert entry.started_at.tzinfo is UTC
    with pytest.raises(ValueError, match="timezone"):
        step(started_at="2026-03-01T14:00:00")


def test_full_entries_come_back_equal() -> None:
    when = datetime(2026, 3, 1, 12, 0, 0, 123456, UTC)
    ref = {"digest": "d", "bytes": 1, "preview": "p"}
    entry = step(
        item=0,
        input_ref=ref,
        output_ref=ref,
        error={"kind": "soft", "code": "timeout", "message": "m"},
        idempotency_key="k",
        started_at=when,
        ended_at=when,
        input_tokens=0,
        output_tokens=7,
        model_calls=1,
        note="n",
        approval={"by": "me"},
    )
    whole = run(
        plan_id="p",
        revision=2,
        success=False,
        answer="",
        reason="r",
        replans=1,
        pending=[{"id": "x"}],
        usage={"tokens": 3},
    )
    assert record(StepEntry, json.loads(json.dumps(to_stored(entry))), "it") == entry
    assert record(RunEntry, json.loads(json.dumps(to_stored(whole))), "it") == whole


STEP_OF_FORMAT_1: dict[str, JSON] = {
    "format": 1,
    "run_id": "run-1",
    "plan_id": "plan-1",
    "revision": 2,
    "step_id": "s1",
    "item": 3,
    "action": "tool",
    "tool": "refund",
    "effect": "write",
    "status": "unknown",
    "attempts": 2,
    "input_ref": {"digest": "d", "bytes": 1, "preview": "p"},
    "output_ref": {"digest": "e", "bytes": 1, "preview": "q"},
    "error": {"kind": "unknown", "code": "timeout", "message": "m"},
    "idempotency_key": "k",
    "started_at": "2026-03-01T12:00:00+00:00",
    "ended_at": "2026-03-01T12:00:00+00:00",
    "input_tokens": 1,
    "output_tokens": 7,
    "model_calls": 1,
    "note": "n",
    "approval": {"by": "me"},
}
RUN_OF_FORMAT_1: dict[str, JSON] = {
    "format": 1,
    "run_id": "run-1",
    "goal": "逾期订单",
    "plan_id": "plan-1",
    "revision": 2,
    "status": "partial",
    "success": False,
    "answer": "a",
    "reason": "r",
    "replans": 1,
    "pending": [{"id": "x"}],
    "usage": {"tokens": 3},
    "created_at": "2026-03-01T12:00:00+00:00",
    "updated_at": "2026-03-01T12:00:00+00:00",
}


@pytest.mark.parametrize(("kind", "stored"), [(StepEntry, STEP_OF_FORMAT_1), (RunEntry, RUN_OF_FORMAT_1)])
def test_an_entry_with_the_fields_of_the_first_version_opens_and_is_stored_so_again(
    kind: Any, stored: dict[str, JSON]
) -> None:
    assert to_stored(record(kind, stored, "it")) == stored


@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        (StepEntry, {"run_id", "plan_id", "revision", "step_id", "action", "status"}),
        (RunEntry, {"run_id", "goal", "status", "created_at", "updated_at"}),
    ],
)
def test_no_field_must_be_given_that_the_first_version_did_not_write(
    kind: type[StepEntry] | type[RunEntry], needed: set[str]
) -> None:
    assert {name for name, field in kind.model_fields.items() if field.is_required()} == needed


def test_an_entry_is_stored_without_what_it_does_not_say() -> None:
    assert to_stored(step(tool=None, effect=None)) == {
        "format": 1,
        "run_id": "run-1",
        "plan_id": "plan-1",
        "revision": 1,
        "step_id": "s1",
        "action": "tool",
        "status": "succeeded",
    }


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (to_stored(step()) | {"format": 2}, "has format 2, this version reads up to 1; upgrade planrail"),
        ({"format": 2, "$json": "{}"}, "has format 2"),
        ({"step_id": "s1"}, "it has no format number; restore"),
        (to_stored(step()) | {"status": "odd"}, "damaged or of another version \\(see status\\)"),
        (to_stored(step()) | {"colour": "red"}, "of another version \\(see colour\\); upgrade planrail, or"),
    ],
)
def test_an_entry_that_cannot_be_read_says_why(stored: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreFormatError, match=message):
        record(StepEntry, stored, "step 's1'")


@given(st.lists(st.text(), min_size=2, unique=True))
def test_no_two_ids_share_a_label(texts: list[str]) -> None:
    labels = [label(text) for text in texts]
    assert len(set(labels)) == len(texts)
    assert all(each and "." not in each and each.isascii() for each in labels)


@pytest.mark.parametrize("run_id", ["run-1", "步骤 1", "a.b/c", "x' OR '1'='1", "%", "r" * 200, "e\u0301"])
def test_printable_ids_name_a_run(run_id: str) -> None:
    assert check_run_id(run_id) == run_id


@pytest.mark.parametrize("run_id", ["", "  ", "r" * 201, "a\nb", "a\x00b", "\ud800", "\x7f", 7, None])
def test_other_ids_do_not(run_id: Any) -> None:
    with pytest.raises(RunIdError, match="use 1 to 200 printable characters"):
        check_run_id(run_id)
