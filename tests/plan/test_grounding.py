"""A value has a source, or was made up."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, History, Plan, PlanProblem, Sources, check_plan
from tests.plan.fakes import CATALOG, FakeCatalog, FakeTool, plan_of, tool

PAYING = FakeCatalog(
    {
        **CATALOG.tools,
        "pay": FakeTool(
            "pay", effect="write", arguments=frozenset({"to", "note"}), grounded=frozenset({"to"})
        ),
    }
)
IBAN = "DE12 3456 7890 1234"


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("A1234", "order a1234 please"),
        ("A1234", "订单A1234的状态"),
        ("Ａ１２３４", "order A1234"),
        ("#A1234", "order A1234"),
        (1234.5, "pay 1,234.50 now"),
        ("1.234,50 €", "EUR 1234.50"),
        (1234567.89, "1.234.567,89"),
        (100000, "1,00,000"),
        (1234, "1 234"),
        (40, "40EUR"),
        (40, "￥40"),
        (40, "退款40元"),
        ("40", {"x": 40.0}),
        (40.0, {"x": 40}),
        ("USD 40", "40 dollars"),
        (-5, "move -5"),
        (IBAN.replace(" ", ""), IBAN),
        (IBAN, IBAN.replace(" ", "")),
        ("bob@x.com", "write to <Bob@X.com>."),
        (["a@b.c", "d@e.f"], "a@b.c and d@e.f"),
        ("a@b.c, d@e.f", "a@b.c and d@e.f"),
        ({"street": "北京市朝阳区"}, "寄到北京市朝阳区建国路"),
        ("A1234", {"A1234": {"n": 1}}),
        ("", "nothing"),
        (None, "nothing"),
        (True, "nothing"),
    ],
)
def test_a_value_is_found_however_it_is_written(value: JSON, source: JSON) -> None:
    assert Sources(source).lacks(value) == ()


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("123", "A1234"),
        (1234, "A1234"),
        (40, "A-40"),
        (4, "40"),
        (12, "1 2"),
        (41, "40"),
        (-40, "refund 40"),
        ("0042", "42"),
        ("A1235", "A1234"),
        ("A1234", "A1234-2"),
        ("bob@x.com", "notbob@x.com"),
        ("bob@x.com", "bob@x.com.evil"),
        ("b@x.com", "a.b@x.com"),
        (["a@b.c", "x@y.z"], "a@b.c"),
        ("evil@x.com", "nobody"),
    ],
)
def test_a_part_of_something_else_is_no_source(value: JSON, source: JSON) -> None:
    assert Sources(source).lacks(value) != ()


@given(st.text(min_size=1) | st.integers(-(10**12), 10**12) | st.floats(0, 1e9), st.text())
def test_what_stands_in_a_result_as_it_is_has_a_source(value: str | float, around: str) -> None:
    assert Sources({"before": around, "value": value}).lacks(value) == ()


@given(st.from_regex(r"[a-z]{3,8}@[a-z]{3,8}\.com", fullmatch=True), st.text())
def test_an_address_has_a_source_only_where_it_is_written(address: str, text: str) -> None:
    assert Sources(text).lacks(address) == (() if address in text.casefold() else (address,))


def by(author: str, *steps: JSON, **fields: JSON) -> Plan:
    return plan_of(*steps, goal="pay bob@x.com", **fields).model_copy(update={"author": author})


def problems(plan: Plan, history: History | None = None) -> list[PlanProblem]:
    return [p for p in check_plan(plan, PAYING, history=history) if p.code == "ungrounded_arg"]


def test_a_planner_may_not_make_up_an_address() -> None:
    good, bad = tool("s1", name="pay", to="Bob@x.com", note="any"), tool("s2", name="pay", to="eve@x.com")

    assert [p.step_id for p in problems(by("planner", good, bad))] == ["s2"]
    assert "'eve@x.com' as to occurs in no input" in problems(by("planner", bad))[0].message
    assert problems(by("caller", bad)) == []
    assert problems(by("human:ann", bad)) == []
    assert problems(by("template:x", bad)) == []


def test_params_a_planner_made_up_are_no_source() -> None:
    step = tool("s1", name="pay", to="eve@x.com")

    assert len(problems(by("planner", step, params={"to": "eve@x.com"}))) == 1
    assert problems(by("replanner", step, params={"to": "eve@x.com"})) == []


def test_a_replanner_may_use_results_and_what_people_wrote() -> None:
    before = plan_of(tool("s1"), tool("s2", name="pay", to="carl@x.com"))
    history = History(before, completed={"s1": {"mail": "dora@x.com"}})

    def found(address: str, previous: History) -> bool:
        plan = by("replanner", tool("s1"), tool("s3", name="pay", to=address))
        return problems(plan, previous) == []

    assert found("dora@x.com", history)
    assert found("carl@x.com", history)
    assert not found("eve@x.com", history)
    by_model = replace(history, previous=before.model_copy(update={"author": "replanner"}))
    assert found("carl@x.com", by_model)


def test_what_a_model_answered_is_no_source() -> None:
    before = plan_of({"id": "s1", "action": "llm", "instruction": "find an address"})
    history = History(before, completed={"s1": "eve@x.com"})
    plan = by("replanner", *before.to_json()["steps"], tool("s2", name="pay", to="eve@x.com"))  # type: ignore[misc]

    assert len(problems(plan, history)) == 1
