"""References: found at any depth, resolved once, never by attribute."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import (
    JSON,
    ReferenceFailure,
    Scope,
    condition,
    escape_text,
    evaluate_condition,
    references,
    resolve,
)
from tests.plan.strategies import TEXT, VALUES

SCOPE = Scope(
    steps={
        "s1": {"items": [{"name": "x"}, {"name": "y"}], "text": "中文", "none": None, "n": 3, "f": 3.0},
        "s2": {"count": 3},
        "步骤一": {"x": 1},
        "a b": {"c": [True]},
        "big": {"id": 2**80},
    },
    params={"k": 5, "__class__": "a key of the data"},
)


def test_references_nested_deep_and_two_in_one_text_are_all_replaced() -> None:
    args: JSON = {
        "body": {"parts": ["a ${s1.text} b ${s2} c", {"k": "${s1.items[1].name}"}]},
        "n": "${s2.count}",
    }
    assert resolve(args, SCOPE) == {"body": {"parts": ['a 中文 b {"count":3} c', {"k": "y"}]}, "n": 3}
    assert [expression.step_ids for expression in references(args)] == [{"s1"}, {"s2"}, {"s1"}, {"s2"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${s1.n}", 3),
        ("${s1.f}", 3.0),
        ("${ s1.none }", None),
        ("${big.id}", 2**80),
        ("${steps['步骤一'].x}", 1),
        ('${steps["a b"].c[0]}', True),
        ("${步骤一.x}", 1),
        ("${params.k}", 5),
        ("${params.__class__}", "a key of the data"),
        ("${s1.n + 1}", 4),
        ("${s1.f * 1.5}", 4.5),
        ("${s1.n > 2}", True),
        ("${size(s1.items)}", 2),
        ("${s1.items.map(i, i.name)}", ["x", "y"]),
        ("${s1.items.filter(i, i.name == 'y')[0].name}", "y"),
        ("${{'}': s1.n}}", {"}": 3}),
        ("${'}' + s1.text + \"${\"}", "}中文${"),
        ("${has(params.z) ? params.z : params.k}", 5),
        ("${steps['步骤一'].x + s2.count}", 4),
        ("${s1.items.exists(s2, s2.name == 'x')}", True),
        ("${[s1.none, {'a': bytes('b')}]}", [None, {"a": {"$bytes": "Yg=="}}]),
        ("${[timestamp('2024-01-02T03:04:05Z'), s1.n]}", ["2024-01-02T03:04:05+00:00", 3]),
        ("${[duration('90s'), s1.n]}", ["90s", 3]),
        ("n=${s1.n} f=${s1.f} t=${s1.n > 2} z=${s1.none}", "n=3 f=3.0 t=true z=null"),
        ("$${s1.n} costs $5 {s1.n} {{x}} %(s1)s", "${s1.n} costs $5 {s1.n} {{x}} %(s1)s"),
    ],
)
def test_an_expression_keeps_its_type_and_text_takes_it_in(text: str, value: JSON) -> None:
    resolved = resolve(text, SCOPE)
    assert resolved == value
    assert type(resolved) is type(value)


@given(
    st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9),
    st.integers(1, 999) | st.floats(0.5, 1e3),
    st.sampled_from("+-*/"),
)
def test_numbers_reckon_whether_they_are_whole_or_not(first: float, second: float, mark: str) -> None:
    scope = Scope({"s1": {"a": first, "b": second}})
    both_whole = isinstance(first, int) and isinstance(second, int)
    expected = {"+": first + second, "-": first - second, "*": first * second, "/": first / second}[mark]
    if mark == "/" and both_whole:
        expected = int(abs(first) // second) * (1 if first >= 0 else -1)
    for text in (f"s1.a {mark} s1.b", f"s1.a {mark} {second!r}"):
        found = resolve(f"${{{text}}}", scope)
        assert found == pytest.approx(expected, rel=1e-12)
        assert isinstance(found, int) is both_whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${s1.f / 2}", 1.5),
        ("${s1.items.map(i, s1.n * 1.5)}", [4.5, 4.5]),
        ("${s1.f - 1 > 1 ? 'more' : 'less'}", "more"),
        ("${[big.odd, s1.f * 2]}", [2**53 + 1, 6.0]),
        ("${s1.items[1].name + string(s1.f * 2)}", "y6"),
    ],
)
def test_whole_numbers_reckon_with_others_and_stay_what_they_are_else(text: str, value: JSON) -> None:
    items: JSON = [{"name": "x"}, {"name": "y"}]
    scope = Scope({"s1": {"items": items, "n": 3, "f": 3.0}, "big": {"odd": 2**53 + 1}})
    assert resolve(text, scope) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${s9.x}", "no result of a step 's9'; the steps are s1, s2"),
        ("${s1.nope}", "no key 'nope'; the keys are items, text, none, n, f"),
        ("${s1.items[7]}", "no index 7; the list has 2 items"),
        ("${s1.items.name}", "'name' must be a key of an object, but the value is a list"),
        ("${s1.text.x}", "but the value is a text"),
        ("${s1.n + 'a'}", "types do not fit"),
        ("${s1.items.name == 'x'}", "(s1: object)"),
        ("${s1.n / 0}", "division by zero"),
        ("${s1.f + s1.text}", "types do not fit"),
        ("${s1.f / 0}", "check for division by zero"),
        ("${s1.nope + 1}", "no key 'nope'"),
        ("${s1.items.map(i, s1.items.map(j, j))}", "one comprehension"),
        ("${{1: s1.n}}", "keys must be text"),
        ("${s1.f / 0.0}", "not a JSON number"),
        ("${big.id + 1}", "81 bits does not fit"),
        ("${s1.n // }", "comments"),
        ("a ${s1.n", "never closed"),
        ("${}", "empty"),
        ("${1 + 1}", "names no step and no param"),
        ("${steps}", "needs the id of one step"),
        ("${steps[params.k]}", "needs the id of one step"),
        ("${size(steps)}", "needs the id of one step"),
        ("${system(s1)}", "no function system"),
        ("${s1.n +}", "Failed to parse"),
    ],
)
def test_what_cannot_be_resolved_says_why(text: str, message: str) -> None:
    with pytest.raises(ReferenceFailure) as caught:
        resolve(text, SCOPE)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "${s1.__class__}",
        "${s1.__dict__}",
        "${s1.text.__class__}",
        "${s1['__class__']}",
        "${s1.items.__len__}",
        "${s1.__class__ == 1}",
        "${s1.items.append(1)}",
        "${''.__class__.__mro__ == s1}",
    ],
)
def test_attributes_of_objects_are_never_reached(text: str) -> None:
    with pytest.raises(ReferenceFailure):
        resolve(text, SCOPE)


@given(
    TEXT, st.sampled_from(["${s1}", "${params.k}", "$${s1}", '{"a": {"b": 1}}', "{api_key}", "%(s1)s"]), TEXT
)
def test_text_that_was_put_in_is_never_read_again(before: str, put_in: str, after: str) -> None:
    scope = Scope({"s1": put_in}, {"k": "SECRET"})
    assert resolve("${s1}", scope) == put_in
    text = escape_text(f"<{before}>") + "-${s1}-" + escape_text(f"<{after}>")
    assert resolve(text, scope) == f"<{before}>-{put_in}-<{after}>"


def outcome(text: str, scope: Scope) -> JSON | ReferenceFailure:
    try:
        return resolve(text, scope)
    except ReferenceFailure as failure:
        return failure


@given(st.text(alphabet="${}ab'\"\\ \n", max_size=30))
def test_escaped_text_comes_out_unchanged_and_any_text_resolves_or_fails_cleanly(text: str) -> None:
    assert resolve(escape_text(text), Scope({})) == text
    outcome(text, Scope({"a": 1, "b": {"a": 2}}))


@given(VALUES)
def test_a_whole_reference_is_the_value_itself_and_inside_text_it_is_json(value: JSON) -> None:
    scope = Scope({"s1": {"v": value}})
    assert json.dumps(resolve("${s1.v}", scope)) == json.dumps(value)
    inside = resolve("=${s1.v}", scope)
    assert isinstance(inside, str)
    if not isinstance(value, str):
        assert json.dumps(json.loads(inside[1:])) == json.dumps(value)


@given(st.text(alphabet="s1.()[]{}'\"+-*/?:!&|<>= \\nameiallmp,_$", max_size=40))
def test_any_expression_evaluates_or_fails_cleanly(text: str) -> None:
    outcome("${" + text + "}", Scope({"s1": {"a": [1, {"b": None}]}}))


def test_whatever_is_read_from_an_absent_step_is_null() -> None:
    scope = Scope({"s2": 1}, absent=frozenset({"s1"}))
    assert resolve(["${s1}", "${s1.a.b}", "${s1.n + s2}", "x ${s1.a}"], scope) == [None, None, None, "x null"]


@pytest.mark.parametrize(
    "text",
    [
        "${s1.map(i, s1)}",
        "${(s1 + s1 + s1).map(i, i)}",
        "${s1.filter(i, i in s1)}",
        "${s1.map(i, [i, i, i])}",
    ],
)
def test_an_expression_that_would_block_the_process_is_refused(text: str) -> None:
    with pytest.raises(ReferenceFailure, match="too costly on lists of up to 3000 items"):
        resolve(text, Scope({"s1": list(range(3000))}))


def test_a_search_through_a_long_list_is_allowed() -> None:
    assert resolve("${s1.all(i, i >= 0)}", Scope({"s1": list(range(20_000))})) is True


def test_one_field_of_many_wide_items_is_allowed_but_copying_the_items_is_not() -> None:
    wide: JSON = [{f"k{field}": field for field in range(30)} for _ in range(600)]
    scope = Scope({"s1": wide})
    assert resolve("${s1.map(i, i.k1)}", scope) == [1] * 600
    for text in ("${s1.map(i, i)}", "${s1.filter(i, i.k1 == 1)}"):
        with pytest.raises(ReferenceFailure, match="too costly"):
            resolve(text, scope)


def test_a_value_too_deep_for_an_expression_is_refused_and_a_path_still_reads_it() -> None:
    deep: JSON = "end"
    for _ in range(5000):
        deep = [deep]
    scope = Scope({"s1": {"deep": deep, "n": 1}})
    with pytest.raises(ReferenceFailure, match="nested deeper than 100 levels"):
        resolve("${s1.n + 1}", scope)
    with pytest.raises(ReferenceFailure, match="nested too deep"):
        resolve("text ${s1.deep}", scope)
    assert resolve("${s1.n}", scope) == 1


def test_doubling_text_in_a_chain_of_comprehensions_is_refused() -> None:
    scope = Scope({"s1": ["x" * 10_000]})
    joined = " + ".join(["i"] * 60)
    with pytest.raises(ReferenceFailure, match="too costly"):
        resolve(f"${{s1.map(i, {joined}).map(i, {joined})}}", scope)


def test_a_pattern_over_a_long_list_is_refused() -> None:
    scope = Scope({"s1": ["x"] * 51})
    with pytest.raises(ReferenceFailure, match=r"matches\(\) over a list of 51 items"):
        resolve("${s1.all(i, i.matches('^x+$'))}", scope)


def test_a_condition_must_be_true_or_false() -> None:
    assert condition("s2.count == 3", SCOPE) is True
    assert condition("${s2.count > 3}", SCOPE) is False
    with pytest.raises(ReferenceFailure, match="must be true or false, this is a number"):
        condition("s2.count", SCOPE)


def test_a_rule_sees_arguments_by_name() -> None:
    assert evaluate_condition("amount > 100.0 && args.to == 'x'", {"amount": 150.0, "args": {"to": "x"}})
    with pytest.raises(ReferenceFailure):
        evaluate_condition("missing > 1", {"amount": 1})
