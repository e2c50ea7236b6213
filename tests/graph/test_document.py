"""The output document: made from the journal alone, whole for every state a run can be in."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from checkpoints import OutputRef, RunEntry, StepEntry
from graph.plan import Plan, RunStatus, StepStatus, ToolStep
from graph.state import OUTPUT_KEYS, build_document, effects, entries_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEPS = tuple(ToolStep(id=f"s{n}", tool="t") for n in range(5))
PLAN = Plan(plan_id="p", goal="g", steps=STEPS)
ROW = {
    "id", "action", "status", "attempts", "output", "error", "revision", "started_at", "ended_at",
    "idempotency_key",
}  # fmt: skip
ENTRIES = st.builds(
    StepEntry,
    run_id=st.just("r"),
    plan_id=st.just("p"),
    revision=st.integers(1, 3),
    step_id=st.just("filled in"),
    action=st.just("tool"),
    tool=st.just("t"),
    effect=st.sampled_from(["read", "write", None]),
    status=st.sampled_from(StepStatus),
    attempts=st.integers(0, 4),
    output=st.none() | st.integers(),
    ended_at=st.none() | st.just(NOON),
    model_calls=st.integers(0, 2),
    input_tokens=st.none() | st.integers(0, 9),
    output_tokens=st.none() | st.integers(0, 9),
)
JOURNALS = st.dictionaries(st.sampled_from([step.id for step in STEPS]), ENTRIES).map(
    lambda found: {name: entry.model_copy(update={"step_id": name}) for name, entry in found.items()}
)


def _run(status: RunStatus = RunStatus.RUNNING) -> RunEntry:
    return RunEntry(run_id="r", goal="g", status=status, created_at=NOON, updated_at=NOON)


@given(JOURNALS, st.sampled_from(RunStatus))
def test_it_is_whole_and_plain_json_whatever_is_journaled(
    entries: dict[str, StepEntry], status: RunStatus
) -> None:
    document = build_document(_run(status), PLAN, entries, {})

    assert tuple(document) == OUTPUT_KEYS
    assert json.loads(json.dumps(document)) == document
    assert [row["id"] for row in document["steps"]] == [step.id for step in STEPS]
    assert all(row.keys() == ROW for row in document["steps"])
    for row in document["steps"]:
        entry = entries.get(row["id"])
        assert row["status"] == (entry.status.value if entry else "pending")


@given(JOURNALS)
def test_effects_are_the_writes_that_happened_or_may_have(entries: dict[str, StepEntry]) -> None:
    happened = {
        name
        for name, entry in entries.items()
        if entry.effect == "write" and entry.status in (StepStatus.SUCCEEDED, StepStatus.UNKNOWN)
    }
    assert {effect["step"] for effect in effects(entries)} == happened


def test_an_effect_whose_arguments_are_kept_by_reference_shows_how_they_begin() -> None:
    kept = OutputRef(digest="d1", bytes=50_000, preview='{"path":"a"')
    write = StepEntry(
        run_id="r",
        plan_id="p",
        revision=1,
        step_id="s0",
        action="tool",
        tool="t",
        effect="write",
        status=StepStatus.SUCCEEDED,
        input_ref=kept,
    )
    (effect,) = effects({"s0": write})
    assert effect["args"] == {"$ref": "d1", "bytes": 50_000, "preview": '{"path":"a"'}


def test_entries_of_other_plans_and_replaced_steps_are_left_out() -> None:
    def entry(step_id: str, plan_id: str = "p") -> StepEntry:
        return StepEntry(
            run_id="r", plan_id=plan_id, revision=1, step_id=step_id, action="tool", status=StepStatus.FAILED
        )

    journal = {name: entry(name) for name in ("s0", "s1@r1", "gone")} | {"s2": entry("s2", "another")}
    assert set(entries_of(journal, PLAN)) == {"s0"}


def test_a_loaded_result_is_shown_in_place_of_its_reference() -> None:
    entry = StepEntry(
        run_id="r",
        plan_id="p",
        revision=1,
        step_id="s0",
        action="tool",
        status=StepStatus.SUCCEEDED,
        output=1,
    )
    document = build_document(_run(), PLAN, {"s0": entry}, {"s0": None})
    assert document["steps"][0]["output"] is None
    assert build_document(_run(), PLAN, {"s0": entry}, {})["steps"][0]["output"] == 1
    assert build_document(_run(), None, {}, {})["steps"] == []
