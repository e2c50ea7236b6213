"""Every reason why a plan may not run, by its code."""

import time

import pytest

from graph.plan import (
    JSON,
    History,
    Plan,
    PlanError,
    PlanLimits,
    PlanProblem,
    ToolStep,
    call_digest,
    check_plan,
    parse_plan,
)
from tests.plan.fakes import CATALOG, plan_of, tool
from tests.support.plans import P0


def problems_of(*steps: JSON, limits: PlanLimits | None = None, **fields: JSON) -> list[PlanProblem]:
    return check_plan(plan_of(*steps, **fields), CATALOG, limits or PlanLimits())


def summary(problems: list[PlanProblem]) -> list[tuple[str, str | None]]:
    return [(problem.code, problem.step_id) for problem in problems]


def test_the_base_plan_checks_clean() -> None:
    plan, _ = parse_plan(P0)
    assert plan is not None
    assert check_plan(plan, CATALOG) == []


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], [("empty", None)]),
        ([tool("s1"), tool("s1", name="write")], [("duplicate_id", "s1")]),
        ([tool("s1"), tool("s2", "s9")], [("unknown_dependency", "s2")]),
        ([tool("s1", "s1")], [("self_dependency", "s1")]),
        ([tool("s1", q="${s1.x}")], [("self_dependency", "s1")]),
        ([tool("s1", "s2"), tool("s2", "s1")], [("cycle", "s1")]),
        ([tool("s1", q="${s2}"), tool("s2", q="${s1}")], [("cycle", "s1")]),
        ([tool("s1", name="reed")], [("unknown_tool", "s1")]),
        ([tool("s1", q=3)], [("bad_args", "s1")]),
        ([tool("s1", zz=3)], [("bad_args", "s1")]),
        ([tool("s1", name="write", key="k")], [("injected_arg", "s1")]),
        ([tool("s1", q="$${evil}")], [("forbidden", "s1")]),
        ([tool("s1", q="${s9.x}")], [("unknown_reference", "s1")]),
        ([tool("s1", q="${params.nope}")], [("unknown_reference", "s1")]),
        ([tool("s1", q="${size(params.nope)}")], [("unknown_reference", "s1")]),
        ([tool("s1", q="${has(params.nope) ? 'a' : 'b'}")], []),
        ([tool("s1", q="${params.k}")], []),
        ([tool("s1", x="${size(params.k) +}")], [("bad_expression", "s1")]),
        ([tool("s1", x="${HOME")], [("bad_expression", "s1")]),
        ([tool("s1", x="${1}")], [("bad_expression", "s1")]),
        ([tool("s1", x="${sum(params.k)}")], [("bad_expression", "s1")]),
        ([tool("s1", x="${'" + "x" * 500 + "' + params.k}")], [("expression_too_costly", "s1")]),
        ([tool("s1", x="${params.k.map(i, params.k.all(j, j))}")], [("expression_too_costly", "s1")]),
        (
            [tool("s1", x="${params.k.map(i,i).map(i,i).map(i,i).map(i,i)}")],
            [("expression_too_costly", "s1")],
        ),
        ([{"id": "s1", "action": "llm", "instruction": "see ${s9}"}], [("unknown_reference", "s1")]),
    ],
)
def test_each_fault_has_its_code_and_step(steps: list[JSON], expected: list[tuple[str, str | None]]) -> None:
    assert summary(problems_of(*steps, params={"k": "v"})) == expected


def test_a_cycle_is_told_with_its_path_and_a_healthy_step_is_not_blamed() -> None:
    problems = problems_of(tool("s1", "s3"), tool("s2", "s1"), tool("s3", "s2"), tool("s4"), tool("s5", "s1"))
    assert summary(problems) == [("cycle", "s1")]
    assert "s1 -> s3 -> s2 -> s1" in problems[0].message


def test_two_separate_cycles_are_both_told() -> None:
    problems = problems_of(tool("a", "b"), tool("b", "a"), tool("c", "d"), tool("d", "c"))
    assert summary(problems) == [("cycle", "a"), ("cycle", "c")]


def test_a_dependency_that_is_given_twice_or_as_plain_text_is_harmless() -> None:
    assert problems_of(tool("s1"), tool("s2", "s1", "s1"), {**tool("s3"), "depends_on": "s1"}) == []


def test_close_names_are_offered() -> None:
    assert "did you mean read?" in problems_of(tool("s1", name="reed"))[0].message
    assert "did you mean fetch_1?" in problems_of(tool("fetch_1"), tool("b", "fetch1"))[0].message


def test_a_reference_without_its_dependency_is_refused_when_a_plan_was_not_parsed() -> None:
    steps = (ToolStep(id="s1", tool="read"), ToolStep(id="s2", tool="read", args={"x": "${s1}"}))
    problems = check_plan(Plan(plan_id="p", goal="g", steps=steps), CATALOG)
    assert summary(problems) == [("unknown_reference", "s2")]
    assert "add it to depends_on" in problems[0].message


def test_too_many_steps_are_refused() -> None:
    assert summary(problems_of(tool("a"), tool("b"), limits=PlanLimits(max_steps=1))) == [
        ("too_many_steps", None)
    ]


def test_escaped_text_is_judged_as_the_tool_will_see_it() -> None:
    assert summary(problems_of(tool("s1", q="$${evil}"), tool("s2", q="$${good}"))) == [("forbidden", "s1")]


OLD = plan_of(tool("s1", q="a"), tool("s2", name="write", q="${s1.t}"), tool("s3", q="c"), plan_id="p")
HISTORY = History(
    previous=OLD,
    completed={"s1": {"t": "v"}},
    failed_calls=frozenset({call_digest("read", {"q": "c"})}),
    done_effects=frozenset({call_digest("write", {"q": "v"}), call_digest("read", {"q": "d"})}),
)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([tool("s1", q="a"), tool("n", q="new")], []),
        ([tool("n", q="new")], [("drops_completed_step", "s1")]),
        ([tool("s1", q="b")], [("changes_completed_step", "s1")]),
        ([tool("s1", q="a"), tool("n", q="c")], [("repeats_failed_call", "n")]),
        ([tool("s1", q="a"), tool("n", name="write", q="v")], [("repeats_completed_effect", "n")]),
        ([tool("s1", q="a"), tool("n", name="write", q="${s1.t}")], [("repeats_completed_effect", "n")]),
        ([tool("s1", q="a"), tool("n", q="d")], []),
    ],
)
def test_a_new_revision_respects_what_happened(
    steps: list[JSON], expected: list[tuple[str, str | None]]
) -> None:
    assert summary(check_plan(plan_of(*steps), CATALOG, history=HISTORY)) == expected


def test_a_completed_step_is_told_from_one_with_an_equal_number_of_another_type() -> None:
    history = History(previous=plan_of(tool("s1", x=1)), completed={"s1": None})
    for value in (1.0, True):
        problems = check_plan(plan_of(tool("s1", x=value)), CATALOG, history=history)
        assert summary(problems) == [("changes_completed_step", "s1")]


def test_a_completed_step_may_rest_on_steps_that_are_gone() -> None:
    history = History(previous=plan_of(tool("gone"), tool("s1", "gone")), completed={"s1": None})
    kept = history.previous.step("s1")
    plan = history.previous.model_copy(update={"steps": (kept,)})
    assert check_plan(plan, CATALOG, history=history) == []


def test_a_plan_error_reads_as_one_text_with_codes_ids_and_messages() -> None:
    error = PlanError(tuple(problems_of(tool("s1", name="reed"), tool("s2", "s2"))))
    assert error.code == "invalid_plan"
    assert "the plan has 2 problems:\n- self_dependency [s2]: " in str(error)
    assert "- unknown_tool [s1]: there is no tool 'reed'; did you mean read?" in str(error)


def test_the_number_of_problems_is_bounded() -> None:
    steps: list[JSON] = [tool(f"s{index}", "gone", name="gone") for index in range(1000)]
    problems = problems_of(*steps, limits=PlanLimits(max_steps=1000))
    assert len(problems) == 200
    assert str(PlanError(tuple(problems))).endswith("- and 150 more")


def test_five_thousand_steps_are_checked_in_about_linear_time() -> None:
    def seconds(count: int) -> float:
        steps: list[JSON] = [tool(f"s{i}", q=f"${{s{i - 1}.x}}" if i else "q") for i in range(count)]
        plan = plan_of(*steps)
        started = time.process_time()
        assert check_plan(plan, CATALOG, PlanLimits(max_steps=count)) == []
        return time.process_time() - started

    small = min(seconds(500) for _ in range(3))
    assert seconds(5000) < 60 * small
