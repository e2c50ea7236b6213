"""Names in expressions get another meaning, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import JSON, MapStep, Scope, escape_text, resolve
from graph.plan.renaming import renamed, renamed_step, renamed_value, step_name

NAMES = {"a": "steps['p.a']", "result": "steps['x'].r"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a", "steps['p.a']"),
        ("a.b[0].a", "steps['p.a'].b[0].a"),
        ("steps.a.x", "steps['p.a'].x"),
        ("steps['a']['a']", "steps['p.a']['a']"),
        ('steps["a"].size()', "steps['p.a'].size()"),
        ("b.a", "b.a"),
        ("b.exists(a, a > 1) && a > 1", "b.exists(a, a > 1) && steps['p.a'] > 1"),
        ("'a' == a.a || size(a) > 2", "'a' == steps['p.a'].a || size(steps['p.a']) > 2"),
        ("a(1)", "a(1)"),
        ("result.id", "steps['x'].r.id"),
        ("a .b", "steps['p.a'] .b"),
        ("steps.b", "steps.b"),
        ("'never closed", "'never closed"),
    ],
)
def test_only_names_of_data_are_renamed(before: str, after: str) -> None:
    assert renamed(before, NAMES) == after


@given(st.text(alphabet="a$b{}.'\" 中"))
def test_text_around_references_stays_as_it_was(text: str) -> None:
    value: JSON = f"{escape_text(text)} ${{a.n}} {escape_text(text)}"
    moved = renamed_value([value], {"a": "steps['p.a']"})
    before = resolve([value], Scope({"a": {"n": 7}}))
    assert resolve(moved, Scope({"p.a": {"n": 7}})) == before == [f"{text} 7 {text}"]


def test_every_expression_of_a_step_is_renamed() -> None:
    step = {
        "id": "s",
        "action": "map",
        "over": "${a.items}",
        "when": "a.ok",
        "expect": "size(result.results) > 0",
        "step": {
            "action": "tool",
            "tool": "t",
            "args": {"x": ["${a.k} ${item}"]},
            "fallback": {"tool": "u", "args": {"x": "${a}"}},
        },
        "compensate": {"tool": "undo", "args": {"id": "${result.results[0]}"}},
    }
    told = renamed_step(MapStep.model_validate(step), NAMES).to_json()
    assert told["over"] == "${steps['p.a'].items}"
    assert told["when"] == "steps['p.a'].ok"
    assert told["expect"] == "size(steps['x'].r.results) > 0"
    assert told["step"] == {
        "action": "tool",
        "tool": "t",
        "args": {"x": ["${steps['p.a'].k} ${item}"]},
        "fallback": {"tool": "u", "args": {"x": "${steps['p.a']}"}},
    }
    assert told["compensate"] == {"tool": "undo", "args": {"id": "${steps['x'].r.results[0]}"}}


@pytest.mark.parametrize("step_id", ["a", "步骤 1", "it's", 'say "x"'])
def test_an_id_of_any_kind_is_named_by_an_expression(step_id: str) -> None:
    assert resolve(f"${{{step_name(step_id)}.v}}", Scope({step_id: {"v": 1}})) == 1


@pytest.mark.parametrize("step_id", ["a\\b", "'\""])
def test_an_id_that_no_expression_can_name_is_refused(step_id: str) -> None:
    with pytest.raises(ValueError, match="without quotes"):
        step_name(step_id)
