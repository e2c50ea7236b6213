"""One question about all of a map's calls, and what a no means."""

from pathlib import Path

from tests.acceptance.support import plan, statuses
from tests.acceptance4.support import NAMES, Desk, Stored, each, inner, say


def test_one_question_for_all_items_shows_every_resolved_call(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db")
    value = plan(
        say("l", ["a", "b", "c"]), each("m", "${l}", inner("put", {"value": "to ${item}"}, risk="high"))
    )

    waiting = stored.start(value)

    assert waiting["status"] == "waiting"
    assert [entry["step"] for entry in waiting["pending"]] == ["m"]
    shown = str(waiting["pending"])
    assert all(f"to {name}" in shown for name in "abc")
    assert desk.effects == []

    done = stored.answer({"m": "approve"})

    assert done["status"] == "succeeded", done
    assert sorted(desk.effects) == ["to a", "to b", "to c"]


def test_all_calls_of_a_long_list_can_be_seen_before_they_are_approved(tmp_path: Path) -> None:
    stored = Stored(Desk(), tmp_path / "r.db")
    value = plan(say("l", NAMES), each("m", "${l}", inner("put", {"value": "to ${item}"}, risk="high")))

    shown = str(stored.start(value)["pending"])

    assert all(f"'to {name}'" in shown for name in NAMES)


def test_a_rejected_map_does_nothing(tmp_path: Path) -> None:
    desk = Desk()
    stored = Stored(desk, tmp_path / "r.db", max_replans=0)
    stored.start(plan(each("m", ["a", "b"], inner("put", {"value": "${item}"}), require_approval=True)))

    done = stored.answer({"m": "reject"})

    assert statuses(done)["m"] == "rejected"
    assert desk.effects == []
    assert desk.calls_of("put") == []
