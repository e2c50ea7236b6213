"""Plans with replans, questions, parts and undoing, killed in process at one point after another."""

from typing import Any

from tests.properties.sweep import swept, tool_step


def test_a_replanned_run_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        tool_step("a", "look", "a"),
        tool_step("b", "broken", "b", "a"),
        tool_step("c", "put", "${b}", "b"),
        tool_step("d", "put", "d"),
    ]
    replan = {"steps": [tool_step("b", "look", "another b", "a"), tool_step("c", "put", "${b}", "b")]}

    sweeps = swept(plan, {}, replan)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["d", "seen another b"]
        assert sweep.outside.calls.count("b") <= 2


def test_a_run_with_approvals_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        tool_step("a", "look", "a"),
        tool_step("b", "put", "${a}", require_approval=True),
        tool_step("c", "put", "${a} again", require_approval=True),
        tool_step("d", "put", "${b}", require_approval=True),
        tool_step("e", "put", "e", "c", on_dependency_failure="skip"),
    ]
    answers = {
        "b": {"decision": "edit", "args": {"what": "edited"}},
        "c": {"decision": "reject", "reason": "no"},
        "d": "approve",
    }

    sweeps = swept(plan, answers, stride=3)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["edited", "put edited"]


def test_a_run_whose_tool_asks_by_itself_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        tool_step("a", "look", "a"),
        tool_step("b", "ask_and_put", "${a}"),
        tool_step("c", "put", "c", require_approval=True),
        tool_step("d", "put", "${b}", "c"),
    ]

    sweeps = swept(plan, {"b": "yes", "c": "approve"}, stride=2)

    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["c", "put yes", "seen a: yes"]


def test_a_run_with_branches_and_fallbacks_ends_the_same_wherever_it_is_killed() -> None:
    plan = [
        tool_step("a", "look", "a"),
        tool_step("no", "put", "never", when="a == 'seen x'"),
        tool_step("yes", "put", "${a}", when="a == 'seen a'", require_approval=True),
        tool_step("fall", "broken", "c", "a", fallback={"tool": "put", "args": {"what": "instead"}}),
        tool_step(
            "odd",
            "put",
            "odd",
            "a",
            expect="result == 'else'",
            fallback={"tool": "look", "args": {"what": "o"}},
        ),
        tool_step("lost", "broken", "d", "yes"),
    ]
    replan = {"steps": [tool_step("join", "put", "${yes}, ${no}, ${fall}, ${odd}")]}

    sweeps = swept(plan, {"yes": "approve"}, replan, stride=2)

    joined = "put seen a, null, put instead, seen o"
    for sweep in sweeps:
        assert sorted(sweep.outside.effects.values()) == ["instead", "odd", joined, "seen a"]


def _undone_by(what: str) -> dict[str, Any]:
    return {"compensate": {"tool": "put", "args": {"what": what}}}


def test_a_run_with_parts_that_is_undone_at_last_ends_the_same_wherever_it_is_killed() -> None:
    inner = {"action": "tool", "tool": "put", "args": {"what": "${item}"}, "when": "index < 2"}
    plan = [
        tool_step("a", "put", "a", **_undone_by("no ${result}")),
        {"id": "p", "action": "plan", "goal": "go on with ${a}"},
        {"id": "q", "action": "plan", "goal": "go on beside it", "depends_on": ["a"]},
        {
            "id": "m",
            "action": "map",
            "over": ["m0", "${p}", "m2"],
            "step": inner | _undone_by("no ${item}"),
            "depends_on": ["p"],
        },
        tool_step("lost", "broken", "lost", "m", "q"),
    ]
    part = {
        "steps": [
            tool_step("b", "put", "b", require_approval=True, **_undone_by("no ${result}")),
            tool_step(
                "c", "broken", "c", "b", fallback={"tool": "look", "args": {"what": "instead of ${b}"}}
            ),
        ]
    }

    sweeps = swept(plan, {"p.b": "approve", "q.b": "approve"}, part=part, stride=3)

    seen = "seen instead of put b"
    for sweep in sweeps:
        did = list(sweep.outside.effects.values())
        assert sorted(did[:5]) == ["a", "b", "b", "m0", seen]
        assert sorted(did[5:]) == ["no m0", "no put a", "no put b", "no put b", f"no {seen}"]
        assert did[-1] == "no put a"
        assert len(sweep.models["planner"].prompts) in (2, 3)


def test_a_run_that_a_person_stops_is_stopped_wherever_it_is_killed() -> None:
    plan = [
        tool_step("a", "put", "a", **_undone_by("no ${result}")),
        tool_step("b", "put", "${a}", require_approval=True),
        tool_step("c", "put", "c", "a", require_approval=True),
    ]

    sweeps = swept(plan, {"b": {"decision": "reject", "then": "stop", "reason": "no"}, "c": "approve"})

    for sweep in sweeps:
        assert list(sweep.outside.effects.values()) == ["a", "no put a"]


def test_a_run_of_which_a_person_wants_another_plan_gets_it_wherever_it_is_killed() -> None:
    plan = [tool_step("a", "look", "a"), tool_step("b", "put", "${a}", require_approval=True)]
    answers = {"b": {"decision": "reject", "then": "replan", "reason": "too little"}}

    sweeps = swept(plan, answers, {"steps": [tool_step("c", "put", "${a} twice")]})

    for sweep in sweeps:
        assert list(sweep.outside.effects.values()) == ["seen a twice"]
