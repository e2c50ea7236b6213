"""Anything becomes a plan or problems."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.plan import JSON, check_plan, parse_plan, parse_plan_text
from tests.plan.fakes import CATALOG, plan_of, tool
from tests.plan.strategies import NEAR_PLAN, WILD, good_plan_data
from tests.support.plans import P0


def messages_of(data: object) -> str:
    plan, problems = parse_plan(data)
    assert plan is None
    return "\n".join(map(str, problems))


@settings(max_examples=400)
@given(WILD | NEAR_PLAN)
def test_any_data_becomes_a_plan_or_problems_and_any_plan_can_be_checked(data: object) -> None:
    plan, problems = parse_plan(data)
    assert (plan is None) == bool(problems)
    if plan is not None:
        checked = check_plan(plan, CATALOG)
        assert all(problem.code and problem.message for problem in checked)
        assert parse_plan(plan.to_json()) == (plan, ())


@given(good_plan_data())
def test_a_plan_without_faults_checks_clean(data: dict[str, JSON]) -> None:
    plan, problems = parse_plan(data)
    assert plan is not None, problems
    assert check_plan(plan, CATALOG) == []


@given(st.text() | st.binary())
def test_any_text_becomes_a_plan_or_problems(text: str | bytes) -> None:
    plan, problems = parse_plan_text(text)
    assert (plan is None) == bool(problems)


def test_a_structure_inside_itself_is_a_problem() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert "nested deeper" in messages_of({"goal": "g", "steps": loop})


def test_a_structure_that_repeats_itself_without_end_is_a_problem() -> None:
    value: object = "x"
    for _ in range(40):
        value = [value, value]
    assert "more than 1000000 values" in messages_of({"goal": "g", "steps": [], "params": {"a": value}})


def test_harmless_variants_are_normalised() -> None:
    plan = plan_of(
        {"id": 1, "action": "tool", "tool": "read", "args": None, "depends_on": None, "title": None},
        {
            "id": " b ",
            "action": "llm",
            "instruction": "x",
            "depends_on": "1",
            "args": None,
            "role": None,
            "when": None,
        },
        {"id": "c", "action": "tool", "tool": "read", "args": '{"q": "x"}', "depends_on": [1, " b ", "b"]},
    )
    assert [(step.id, step.depends_on) for step in plan.steps] == [
        ("1", ()),
        ("b", ("1",)),
        ("c", ("1", "b")),
    ]
    assert plan.steps[2].to_json()["args"] == {"q": "x"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("risk", "severe"),
        ("risk", "HIGH"),
        ("risk", None),
        ("require_approval", "yes"),
        ("require_approval", 1),
        ("require_approval", None),
        ("optional", "true"),
        ("on_dependency_failure", None),
        ("on_dependency_failure", "ignore"),
        ("timeout", True),
        ("timeout", 0),
        ("max_attempts", "3"),
    ],
)
def test_what_could_make_a_plan_less_careful_is_refused(field: str, value: JSON) -> None:
    problem = messages_of({"goal": "g", "steps": [{**tool("s1"), field: value}]})
    assert problem.startswith("bad_plan [s1]:")
    assert f"steps[0].{field}" in problem


@pytest.mark.parametrize(
    "step_id", ["params", "steps", "item", "index", "result", "a\nb", "s#1", "s@r1", "", None, 1.5]
)
def test_an_id_that_cannot_be_referred_to_is_refused(step_id: JSON) -> None:
    assert "steps[0].id" in messages_of({"goal": "g", "steps": [{**tool("s1"), "id": step_id}]})


def test_an_unknown_field_is_named_with_the_close_one() -> None:
    message = messages_of({"goal": "g", "steps": [{**tool("s1"), "depend_on": []}]})
    assert "unknown field 'depend_on'; did you mean depends_on?" in message


def test_choices_and_output_schema_exclude_each_other() -> None:
    step = {
        "id": "a",
        "action": "llm",
        "instruction": "x",
        "choices": ["a"],
        "output_schema": {"type": "object"},
    }
    assert "exclude each other" in messages_of({"goal": "g", "steps": [step]})


def test_a_missing_goal_and_plan_id_come_from_the_caller_and_the_author_is_the_callers_word() -> None:
    plan, _ = parse_plan({"steps": [], "author": "human:boss"}, goal="G", plan_id="P", author="planner")
    assert plan is not None
    assert (plan.goal, plan.plan_id, plan.author) == ("G", "P", "planner")


def test_each_plan_without_an_id_gets_one_of_its_own() -> None:
    first, second = parse_plan({"goal": "g", "steps": []})[0], parse_plan({"goal": "g", "steps": []})[0]
    assert first is not None
    assert second is not None
    assert first.plan_id != second.plan_id


def test_steps_that_are_referred_to_are_added_to_the_dependencies() -> None:
    plan = plan_of(tool("s1"), tool("s2"), tool("s3", "s1", x={"deep": ["${s2.a} ${s1.b}"]}))
    assert plan.step("s3").depends_on == ("s1", "s2")


P0_TEXT = (
    '{"goal":"g","steps":[{"id":"s1","action":"tool","tool":"web_search","args":{"query":"q"},"depends_on":[]},'
    '{"id":"s2","action":"tool","tool":"write_file","args":{"path":"out.md","content":"${s1}"},'
    '"depends_on":["s1"],"risk":"high","require_approval":true}]}'
)


@pytest.mark.parametrize("text", [P0_TEXT, "\ufeff" + P0_TEXT, b"\xef\xbb\xbf" + P0_TEXT.encode()])
def test_a_plan_file_is_read_with_or_without_a_byte_order_mark(text: str | bytes) -> None:
    assert parse_plan_text(text, plan_id="p") == parse_plan(P0, plan_id="p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (P0_TEXT[:-1] + ",]", "line 1, column"),
        (P0_TEXT.replace('"', "'"), "line 1, column 2"),
        (P0_TEXT.replace("true", "None"), "line 1, column"),
        ("/* c */" + P0_TEXT, "line 1, column 1"),
        (P0_TEXT.replace('"g",', '"g"，'), "line 1, column 12"),
        (P0_TEXT.replace('"goal"', "“goal”"), "line 1, column 2"),
        ('"' + P0_TEXT.replace('"', '\\"') + '"', "encoded twice"),
        (P0_TEXT.replace('"q"', "NaN"), "NaN is not JSON"),
        (P0_TEXT.replace('"goal":"g"', '"goal":"g","goal":"h"'), 'the key "goal" occurs twice'),
        ("", "is empty"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text (byte 1)"),
        ("[" * 100_000, "nested too deep"),
        (" " * 4_000_001, "4000001 bytes"),
        ('{"goal":' + "1" * 5000 + "}", "too long"),
        ("[]", "an object with goal and steps, this is list"),
    ],
)
def test_a_text_that_is_almost_a_plan_is_one_clear_problem(text: str | bytes, message: str) -> None:
    plan, problems = parse_plan_text(text)
    assert plan is None
    assert len(problems) == 1
    assert message in problems[0].message
    assert "\n" not in problems[0].message


def test_a_full_width_comma_inside_text_survives() -> None:
    plan, _ = parse_plan_text(P0_TEXT.replace('"q"', '"甲，乙 “丙”"'))
    assert plan is not None
    assert plan.step("s1").to_json()["args"] == {"query": "甲，乙 “丙”"}


@pytest.mark.parametrize("always", [None, "", " ", True, "true", "${true}", "True"])
@pytest.mark.parametrize("field", ["when", "expect"])
def test_a_condition_that_is_always_true_is_none(field: str, always: JSON) -> None:
    plan, problems = parse_plan({"goal": "g", "steps": [{**tool("s1"), field: always}]})
    assert plan is not None, problems
    assert getattr(plan.steps[0], field) is None


@pytest.mark.parametrize("value", [False, 3, {"a": 1}])
def test_a_condition_that_is_no_text_is_refused(value: JSON) -> None:
    assert "steps[0].when" in messages_of({"goal": "g", "steps": [{**tool("s1"), "when": value}]})


def test_an_id_that_stands_for_a_fallback_is_refused() -> None:
    assert "choose another id" in messages_of({"goal": "g", "steps": [tool("s1@fallback")]})


@pytest.mark.parametrize("bad", ["item", None, 7.5, "", "a#1", ["x"], "x@fallback", "a\u202e"])
def test_a_bad_id_of_a_map_is_told_where_it_was_written(bad: object) -> None:
    inner = {"action": "llm", "instruction": "x"}
    said = messages_of({"goal": "g", "steps": [{"id": bad, "action": "map", "over": [1], "step": inner}]})
    alone = messages_of({"goal": "g", "steps": [{"id": bad, **inner}]})
    assert "steps[0].id" in said
    assert said == alone


def test_a_fault_in_a_maps_step_is_told_with_the_maps_id() -> None:
    bad = {"action": "llm"}
    _, problems = parse_plan(
        {"goal": "g", "steps": [{"id": "a#1", "action": "map", "over": [1], "step": bad}]}
    )
    assert {problem.step_id for problem in problems} == {"a#1"}
