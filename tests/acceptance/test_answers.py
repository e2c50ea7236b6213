"""Questions to a person and their answers, in the graph from Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from tests.acceptance.command_line import Inline
from tests.acceptance.support import (
    build,
    by_id,
    given,
    opened,
    outputs,
    plan,
    statuses,
    step,
    stored,
    thread,
    waiting_steps,
    write,
)
from tests.acceptance.toolbox import Toolbox
from tests.support.plans import P0

TWO_TO_APPROVE = plan(
    write("s1", "one", require_approval=True),
    write("s2", "two", require_approval=True),
    step("s3", "web_search", {"query": "beside"}),
)


def test_a_bare_approve_answers_the_only_question(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    waiting = graph.invoke(given(P0), thread())
    assert waiting["status"] == "waiting"
    (asked,) = waiting["pending"]
    assert {"id", "kind", "step", "tool", "args", "risk", "reason", "revision", "digest"} <= asked.keys()
    assert (asked["kind"], asked["step"], asked["tool"]) == ("approval", "s2", "write_file")
    assert asked["args"]["content"] == outputs(waiting)["s1"]

    result = graph.invoke(Command(resume="approve"), thread())

    assert result["status"] == "succeeded"
    assert toolbox.calls("write_file")[0]["content"] == asked["args"]["content"]


@pytest.mark.parametrize("by", ["step", "id"])
def test_an_answer_names_its_question_by_step_or_by_id(toolbox: Toolbox, store: Any, by: str) -> None:
    graph = stored(toolbox, store)
    waiting = graph.invoke(given(TWO_TO_APPROVE), thread())
    names = {str(each["step"]): str(each[by]) for each in waiting["pending"]}

    second = graph.invoke(Command(resume={names["s2"]: {"decision": "approve", "by": "ann"}}), thread())
    assert waiting_steps(second) == {"s1"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s2.md"]
    result = graph.invoke(Command(resume={names["s1"]: {"decision": "approve"}}), thread())

    assert result["status"] == "succeeded"
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s2.md", "s1.md"]
    assert len(toolbox.calls("web_search")) == 1


def test_several_questions_are_answered_in_one_go(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(TWO_TO_APPROVE), thread())

    result = graph.invoke(
        Command(
            resume={
                "s1": {"decision": "approve"},
                "s2": {"decision": "reject", "reason": "no", "then": "skip"},
            }
        ),
        thread(),
    )

    assert statuses(result) == {"s1": "succeeded", "s2": "rejected", "s3": "succeeded"}
    assert [call["path"] for call in toolbox.calls("write_file")] == ["s1.md"]


def test_edited_arguments_are_what_runs(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(P0), thread())

    edited = {"path": "mine.md", "content": {"my": "words"}}
    result = graph.invoke(Command(resume={"s2": {"decision": "edit", "args": edited}}), thread())

    assert result["status"] == "succeeded"
    (written,) = toolbox.calls("write_file")
    assert {"path": written["path"], "content": written["content"]} == edited


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("approve", id="which one"),
        pytest.param({"s9": {"decision": "approve"}}, id="no such step"),
        pytest.param({"f" * 32: {"decision": "approve"}}, id="no such id"),
        pytest.param({"s3": {"decision": "approve"}}, id="a step that asks nothing"),
        pytest.param({"s1": {"decision": "perhaps"}}, id="no decision"),
        pytest.param({"s1": {"decision": "reject", "reason": "no", "then": "dance"}}, id="no consequence"),
        pytest.param({"s1": True}, id="a flag"),
        pytest.param("yes please", id="prose"),
        pytest.param([], id="a list"),
    ],
)
def test_what_is_no_answer_leaves_the_questions_open(toolbox: Toolbox, store: Any, answer: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(TWO_TO_APPROVE), thread())

    with pytest.raises(Exception, match=r"\S") as caught:
        graph.invoke(Command(resume=answer), thread())

    assert type(caught.value).__name__ == "ApprovalError"
    assert any(word in str(caught.value) for word in ("s1", "dance", "perhaps"))
    assert toolbox.calls("write_file") == []
    both = {name: {"decision": "approve"} for name in ("s1", "s2")}
    assert graph.invoke(Command(resume=both), thread())["status"] == "succeeded"
    assert len(toolbox.calls("write_file")) == 2
    assert len(toolbox.calls("web_search")) == 1


def test_an_answer_is_used_once(toolbox: Toolbox, store: Any) -> None:
    graph = stored(toolbox, store)
    graph.invoke(given(P0), thread())
    graph.invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    with pytest.raises(Exception, match=r"\S") as caught:
        graph.invoke(Command(resume={"s2": {"decision": "approve"}}), thread())

    assert type(caught.value).__name__ == "ApprovalError"
    assert len(toolbox.calls("write_file")) == 1


def test_a_step_with_attempts_to_spare_still_waits_and_spends_none(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(plan(write("s1", require_approval=True, max_attempts=3, timeout=5)))

    assert ran.code == 3, ran.text
    assert waiting_steps(ran.document) == {"s1"}
    row = by_id(ran.document)["s1"]
    assert (row["status"], row["attempts"], row["error"]) == ("waiting", 0, None)

    assert inline.on("approve", "r1", "s1").code == 0
    row = by_id(inline.on("show", "r1", "--json").document)["s1"]
    assert (row["status"], row["attempts"]) == ("succeeded", 1)
    assert len(toolbox.calls("write_file")) == 1


def test_a_failure_hides_no_approval_and_an_approval_no_failure(inline: Inline, toolbox: Toolbox) -> None:
    ran = inline.run(
        plan(write("s1", require_approval=True), step("s2", "missing", {"what": "order"}, max_attempts=3))
    )

    assert ran.code == 3, ran.text
    assert statuses(ran.document) == {"s1": "waiting", "s2": "failed"}
    assert waiting_steps(ran.document) == {"s1"}
    assert "there is no order" in json.dumps(by_id(ran.document)["s2"]["error"])

    approved = inline.on("approve", "r1", "s1")
    assert approved.code == 1, approved.text
    document = inline.on("show", "r1", "--json").document
    assert document["status"] == "partial"
    assert statuses(document) == {"s1": "succeeded", "s2": "failed"}
    assert len(toolbox.calls("write_file")) == 1
    assert len(toolbox.calls("missing")) == 1


def test_a_base_plan_waits_in_the_graph_as_it_does_on_the_command_line(
    toolbox: Toolbox, tmp_path: Path
) -> None:
    with opened(tmp_path / "runs.db") as both:
        graph = build(toolbox, checkpointer=both.checkpointer, store=both.store)
        result = graph.invoke(given(P0), thread())

    assert waiting_steps(result) == {"s2"}
    assert statuses(result) == {"s1": "succeeded", "s2": "waiting"}
