"""References and conditions: what is filled in, what is left alone, what is refused."""

import time

import pytest

from tests.acceptance.command_line import Inline
from tests.acceptance.support import build, given, outputs, plan, statuses, step, write
from tests.acceptance.toolbox import Toolbox


def test_references_keep_types_and_go_any_depth(toolbox: Toolbox) -> None:
    content = {
        "whole": "${a}",
        "number": "${a.count}",
        "sum": "${a.count + 1}",
        "list": ["${a.items[0].name}", "x${a.count}y${b.count}z"],
        "escaped": "$${a.count}",
        "condition": "${a.count > 2}",
    }
    steps = plan(
        step("a", "web_search", {"query": "1"}), step("b", "web_search", {"query": "2"}), write("c", content)
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == {
        "whole": outputs(result)["a"],
        "number": 3,
        "sum": 4,
        "list": ["x", "x3y3z"],
        "escaped": "${a.count}",
        "condition": True,
    }


def test_ids_that_cel_cannot_name_are_referable(toolbox: Toolbox) -> None:
    steps = plan(step("步骤一", "web_search", {"query": "q"}), write("w", "${steps['步骤一'].count}"))

    assert build(toolbox).invoke(given(steps))["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == 3


def test_a_condition_routes_or_is_refused_and_is_never_ignored(toolbox: Toolbox) -> None:
    routed = plan(
        step("a", "web_search", {"query": "q"}),
        step("many", "plain", {"text": "many"}, when="a.count > 2"),
        step("few", "plain", {"text": "few"}, when="a.count <= 2"),
        step("fewer", "plain", {"text": "${few}"}),
        write("join", ["${many}", "${few}"]),
    )

    try:
        result = build(toolbox).invoke(given(routed))
    except Exception as error:  # noqa: BLE001 - a version without conditions says so
        assert type(error).__name__ == "PlanError"  # noqa: PT017
        assert "when" in str(error)  # noqa: PT017
        assert toolbox.calls() == []
        return

    assert result["status"] == "succeeded"
    assert statuses(result) == {
        "a": "succeeded", "many": "succeeded", "few": "not_taken", "fewer": "not_taken", "join": "succeeded",
    }  # fmt: skip
    assert toolbox.calls("write_file")[0]["content"] == ["many", None]


def test_references_in_nested_arguments_and_twice_in_a_text(inline: Inline, toolbox: Toolbox) -> None:
    arguments = {
        "body": {"parts": ["a ${s1.query} b ${s2.query} c", {"k": "${s1.items[1].name}"}]},
        "n": "${s2.count}",
    }
    steps = plan(
        step("s3", "write_file", {"path": "p", "content": arguments}, depends_on=["s1"]),
        step("s1", "web_search", {"query": "one"}),
        step("s2", "web_search", {"query": "two"}),
    )

    ran = inline.run(steps)

    assert ran.code == 0, ran.text
    assert toolbox.calls("write_file")[0]["content"] == {
        "body": {"parts": ["a one b two c", {"k": "y"}]},
        "n": 3,
    }
    assert [each["query"] for each in toolbox.calls() if "query" in each] in (["one", "two"], ["two", "one"])
    (row,) = [each for each in ran.document["plan"]["steps"] if each["id"] == "s3"]
    assert set(row["depends_on"]) == {"s1", "s2"}


def test_nothing_but_a_reference_is_filled_in_and_what_is_filled_in_is_left_alone(
    toolbox: Toolbox, inline: Inline
) -> None:
    nasty = 'REF ${s2.secret} {"a": {"b": 1}} {0} {s1} %(s1)s {{x}}'
    content = [
        "{s1.__class__.__init__.__globals__}",
        "{{ ''.__class__.__mro__ }}",
        "%(s1)s ${s1}",
        "{api_key}",
        '{"a": {"b": 1}}',
        "$${s1}",
        "${s1}",
    ]
    steps = plan(
        step("s1", "plain", {"text": nasty.replace("${", "$${")}),
        step("s2", "plain", {"text": "secret"}),
        write("s3", content, depends_on=["s2"]),
        write("s4", "${s3} ${s1}"),
    )

    ran = inline.run(steps)

    assert ran.code == 0, ran.text
    assert toolbox.calls("plain")[0]["text"] in {nasty, "secret"}
    first, second = toolbox.calls("write_file")
    assert first["content"] == [*content[:2], f"%(s1)s {nasty}", *content[3:5], "${s1}", nasty]
    assert second["content"] == f"s3.md {nasty}"


@pytest.mark.parametrize(
    "expression",
    [
        "s1.__class__", "s1.__dict__", "s1['__class__']", "s1.__class__.__init__.__globals__",
        "__import__('os').getcwd()", "open('x')", "s1.format('x')", "params.__class__",
    ],
)  # fmt: skip
def test_an_objects_insides_are_never_reached(inline: Inline, toolbox: Toolbox, expression: str) -> None:
    steps = plan(step("s1", "plain", {"text": "hello"}), write("s2", f"${{{expression}}}"))

    ran = inline.run(steps)

    assert ran.code in {1, 2}, ran.text
    assert toolbox.calls("write_file") == []


def test_an_expression_too_costly_to_run_is_refused(inline: Inline, toolbox: Toolbox) -> None:
    three = "s1.items.map(a, s1.items.map(b, s1.items.map(c, c)))"
    started = time.monotonic()

    inline.run(plan(step("s1", "web_search", {"query": "q"}), write("s2", f"${{{three}}}"))).refused(2)
    inline.run(plan(step("s1", "web_search", {"query": "q"}), write("s2", f"${{{'1+' * 50_000}1}}"))).refused(
        2
    )

    assert time.monotonic() - started < 30
    assert toolbox.calls() == []
