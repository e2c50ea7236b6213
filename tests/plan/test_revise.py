"""The next revision keeps what is done."""

import re
from collections.abc import Set

from hypothesis import given
from hypothesis import strategies as st

from graph.plan import (
    JSON,
    History,
    Plan,
    check_plan,
    diff_plans,
    merge_replan,
    parse_plan,
    topological_order,
    with_own_ids,
)
from tests.plan.fakes import CATALOG, plan_of, tool
from tests.plan.strategies import good_plan_data


@given(good_plan_data(), good_plan_data(), st.integers(0, 8))
def test_a_replan_keeps_completed_steps_as_they_were(
    old_data: dict[str, JSON], new_data: dict[str, JSON], done_count: int
) -> None:
    old, proposal = parse_plan(old_data)[0], parse_plan(new_data)[0]
    assert old is not None
    assert proposal is not None
    renamed = parse_plan(_renamed(new_data))[0]
    assert renamed is not None
    done = frozenset(topological_order(old.steps)[:done_count])
    merged = merge_replan(old, renamed, done)
    kept = [step for step in old.steps if step.id in done]
    assert list(merged.steps[: len(kept)]) == kept
    assert (merged.plan_id, merged.revision, merged.parent_revision) == (old.plan_id, 2, 1)
    history = History(previous=old, completed=dict.fromkeys(done))
    assert check_plan(merged, CATALOG, history=history) == []


def _renamed(data: dict[str, JSON]) -> JSON:
    plan, _ = parse_plan(data)
    assert plan is not None
    text = [{**step.to_json(), "id": f"n{step.id}"} for step in plan.steps]
    for step, before in zip(text, plan.steps, strict=True):
        step["depends_on"] = [f"n{needed}" for needed in before.depends_on]
        for key in ("args", "instruction"):
            if key in step:
                step[key] = _with_new_names(step[key])
        for key in ("when", "expect"):
            step.update({key: re.sub(r"\bs(\d)", r"ns\1", str(step[key]))} if key in step else {})
        if before.fallback is not None:
            step["fallback"] = {"tool": before.fallback.tool, "args": _with_new_names(before.fallback.args)}
    return {**plan.to_json(), "steps": list(text)}


def _with_new_names(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _with_new_names(item) if key == "q" else item for key, item in value.items()}
    return value.replace("${s", "${ns") if isinstance(value, str) else value


def test_repeating_a_completed_step_with_another_title_is_harmless() -> None:
    old = plan_of(tool("s1", q="a"), tool("s2", "s1"))
    proposal = plan_of({**tool("s1", q="a"), "title": "again"}, tool("s3", q="${s1.x}"))
    merged = merge_replan(old, proposal, {"s1"})
    assert [step.id for step in merged.steps] == ["s1", "s3"]
    assert merged.step("s1") == old.step("s1")
    assert merged.step("s3").depends_on == ("s1",)


def test_other_work_under_a_completed_id_is_kept_for_the_check_to_refuse() -> None:
    old = plan_of(tool("s1", x=1))
    merged = merge_replan(old, plan_of(tool("s1", x=True)), {"s1"})
    problems = check_plan(merged, CATALOG, history=History(previous=old, completed={"s1": None}))
    assert [problem.code for problem in problems] == ["changes_completed_step"]


def test_other_work_under_a_completed_id_gets_an_id_of_its_own_and_what_refers_to_it_follows() -> None:
    old = plan_of(tool("s1", q="a"), tool("s1_2", "s1"))
    new = plan_of(
        tool("s1", q="${s1.x}"),
        {**tool("s3", "s1", q="${s1.y} and ${steps['s1'].z}"), "when": "s1.y == 's1'"},
        tool("s4", "s3", q="s1"),
    )
    done = {"s1"}
    moved = own_ids(old, new, done)
    assert moved.repairs == ("s1: named s1_3, as s1 is done",)
    merged = merge_replan(old, moved, done)
    found = {step.id: (step.depends_on, step.to_json().get("args"), step.when) for step in merged.steps}
    assert found == {
        "s1": ((), {"q": "a"}, None),
        "s1_3": (("s1",), {"q": "${s1.x}"}, None),
        "s3": (("s1_3",), {"q": "${steps['s1_3'].y} and ${steps['s1_3'].z}"}, "steps['s1_3'].y == 's1'"),
        "s4": (("s3",), {"q": "s1"}, None),
    }
    assert check_plan(merged, CATALOG, history=History(previous=old, completed={"s1": {"x": 1}})) == []


def test_the_same_work_again_and_what_may_not_move_keep_their_ids() -> None:
    old = plan_of(tool("s1", q="a"), tool("s2", q="b"))
    new = plan_of({**tool("s1", q="a"), "title": "again"}, tool("s2", q="c"), tool("s3", "s2"))
    assert own_ids(old, new, {"s1", "s2"}, moves=False) == new
    assert own_ids(old, new, {"s1"}) == new
    twice = new.model_copy(update={"steps": (*new.steps, new.steps[1])})
    assert own_ids(old, twice, {"s1", "s2"}) == twice, "told as duplicate_id, by the id that was written"


def test_steps_that_are_not_the_proposers_mean_what_they_meant() -> None:
    done, untaken = tool("w", q="${s1.x}"), {**tool("u"), "when": "s1.x == 1"}
    old = plan_of(tool("s1", q="a"), done, untaken, tool("lost"))
    new = plan_of(done, untaken, tool("s1", q="b"), tool("s3", q="${s1.y}"))
    for added in ({"w", "u"}, {"u"}):
        moved = own_ids(old, new, {"s1", "w"}, added=added)
        assert [moved.step("w"), moved.step("u")] == [new.step("w"), new.step("u")]
        assert moved.step("s3").to_json()["args"] == {"q": "${steps['s1_2'].y}"}


def own_ids(
    old: Plan, new: Plan, done: Set[str], *, added: Set[str] = frozenset(), moves: bool = True
) -> Plan:
    return with_own_ids(old, new, done, added=added, moves=lambda step: moves)


def test_a_proposal_that_refers_to_a_completed_step_depends_on_it() -> None:
    old = plan_of(tool("s1"), tool("s2", "s1"))
    proposal, _ = parse_plan({"goal": "g", "steps": [tool("n", x="${s1.a}")]})
    assert proposal is not None
    assert merge_replan(old, proposal, {"s1"}).step("n").depends_on == ("s1",)


def test_the_params_of_the_caller_are_not_replaced() -> None:
    old = plan_of(tool("s1"), params={"limit": 1})
    merged = merge_replan(old, plan_of(tool("n"), params={"limit": 99, "more": 2}), {"s1"})
    assert merged.params == {"limit": 1, "more": 2}


def test_a_difference_prints_one_line_each() -> None:
    old = plan_of(tool("a", x=1), tool("b"), tool("c"))
    new = plan_of(tool("a", x=1.0), {**tool("b"), "risk": "high"}, tool("d"), params={"k": 1})
    diff = diff_plans(old, new)
    assert (diff.added, diff.removed) == (("d",), ("c",))
    assert diff.changed == (("a", ("args",)), ("b", ("risk",)))
    assert str(diff) == "+ d\n- c\n~ a: args\n~ b: risk\n~ plan: params"
    assert not diff_plans(old, old)
    assert str(diff_plans(old, old)) == "no changes"
