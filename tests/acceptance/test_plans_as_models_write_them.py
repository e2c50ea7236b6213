"""Plans with the faults that models are known for: code fences in values, dependencies that lead nowhere."""

import json
from typing import Any

import pytest

from tests.acceptance.command_line import Inline
from tests.acceptance.support import build, given, plan, planner, statuses, step, write
from tests.acceptance.toolbox import Toolbox

DOCUMENTS = [
    pytest.param("# T\n```python\nprint(1)\n```\nend", id="fences"),
    pytest.param('an object {"a": {"b": 1}} and </think> in it', id="JSON and a tag"),
    pytest.param(
        "tab\there, \\n as two characters, \r\n and \u2028 as lines, \U0001f600", id="odd characters"
    ),
    pytest.param("```json\n{}\n```", id="only a fence"),
]


@pytest.mark.parametrize("content", DOCUMENTS)
def test_a_document_in_a_plan_file_arrives_byte_for_byte(
    inline: Inline, toolbox: Toolbox, content: str
) -> None:
    ran = inline.run(plan(write("s1", content)))

    assert ran.code == 0, ran.text
    assert toolbox.calls("write_file")[0]["content"] == content


@pytest.mark.parametrize("content", DOCUMENTS)
def test_a_document_in_a_fenced_reply_arrives_byte_for_byte(toolbox: Toolbox, content: str) -> None:
    reply = plan(step("s1", "write_file", {"path": "out.md", "content": content}), goal="write out.md")
    model = planner(f"Here is the plan.\n```json\n{json.dumps(reply, ensure_ascii=False)}\n```\n")

    result = build(toolbox, models={"planner": model}).invoke({"goal": "write out.md", "plan": None})

    assert result["status"] == "succeeded", result["reason"]
    assert toolbox.calls("write_file")[0]["content"] == content


def test_a_raw_line_break_in_a_value_is_kept_or_refused(inline: Inline, toolbox: Toolbox) -> None:
    content = "# T\n```python\nprint(1)\n```\nend"
    raw = json.dumps(plan(write("s1", "CONTENT"))).replace("CONTENT", content)

    ran = inline.run(raw)

    if ran.code == 2:
        ran.refused(2)
        assert toolbox.calls() == []
    else:
        assert ran.code == 0, ran.text
        assert toolbox.calls("write_file")[0]["content"] == content


def _search(name: str, *depends_on: str) -> dict[str, Any]:
    return step(name, "web_search", {"query": name}, depends_on=list(depends_on))


@pytest.mark.parametrize(
    ("steps", "names"),
    [
        pytest.param([_search("s1"), _search("s2", "s9")], ["s2", "s9"], id="unknown"),
        pytest.param([_search("s1", "s2"), _search("s2", "s1")], ["s1", "s2"], id="two in a circle"),
        pytest.param([_search("s1", "s1")], ["s1"], id="itself"),
        pytest.param(
            [_search("s1", "s2"), _search("s2", "s3"), _search("s3", "s1"), _search("s4")],
            ["s1", "s2", "s3"],
            id="three in a circle beside a healthy one",
        ),
        pytest.param([_search("s1"), write("s1")], ["s1"], id="one id twice"),
    ],
)
def test_dependencies_that_cannot_be_met_are_refused_by_name(
    inline: Inline, toolbox: Toolbox, steps: list[dict[str, Any]], names: list[str]
) -> None:
    line = inline.run(plan(*steps)).refused(2)
    assert [name for name in names if name not in line] == []

    with pytest.raises(Exception, match=names[0]) as caught:
        build(toolbox).invoke(given(plan(*steps)))
    assert type(caught.value).__name__ in {"PlanError", "InputError"}
    assert toolbox.calls() == []


@pytest.mark.parametrize("depends_on", [["s1", "s1"], "s1", None])
def test_harmless_dependency_lists_are_taken(toolbox: Toolbox, depends_on: object) -> None:
    steps = plan(_search("s1"), {**_search("s2"), "depends_on": depends_on})

    result = build(toolbox).invoke(given(steps))

    assert statuses(result) == {"s1": "succeeded", "s2": "succeeded"}


def test_integer_ids_and_a_step_after_its_dependent_are_taken(toolbox: Toolbox) -> None:
    steps = plan(
        {**write("2", "second"), "id": 2, "depends_on": [1]},
        {**write("1", "first"), "id": 1},
    )

    result = build(toolbox).invoke(given(steps))

    assert result["status"] == "succeeded"
    assert [call["content"] for call in toolbox.calls("write_file")] == ["first", "second"]
