"""Answers to questions: every documented form is taken, everything else leaves all questions open."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.state import ApprovalError, Kind, Request, check_edit, read_answer, read_answers
from graph.state.questions import CHOICES, THEN
from tools import ToolRegistry, policy


def _request(step: str = "s1", kind: Kind = "approval", tool: str | None = "pay") -> Request:
    return Request(
        id=f"ap-{step}",
        kind=kind,
        run_id="r",
        step=step,
        tool=tool,
        args={"amount": 5},
        risk="high",
        reason="its risk is high",
        revision=1,
        digest="d",
    )


ONE = _request()
TWO = [_request("s1"), _request("s2", "outcome")]
DECISIONS = [(kind, word) for kind, words in CHOICES.items() for word in words]


@policy(effect="write")
def pay(amount: float, note: str = "") -> str:
    """Pay."""
    return note


REGISTRY = ToolRegistry.of(pay)


@pytest.mark.parametrize(("kind", "word"), DECISIONS)
@pytest.mark.parametrize("dress", ["{}", " {} \n", "UPPER"])
def test_each_documented_word_is_an_answer(kind: Kind, word: str, dress: str) -> None:
    said = word.upper().replace("_", "-") if dress == "UPPER" else dress.format(word)
    answer = read_answer(
        {"decision": said, "args": {"amount": 1} if word == "edit" else None}, _request(kind=kind)
    )
    assert answer["decision"] == word
    assert answer["then"] == ("skip" if word == "reject" else None)


@pytest.mark.parametrize(("kind", "word"), DECISIONS)
def test_an_answer_to_the_other_kind_of_question_is_none(kind: Kind, word: str) -> None:
    other: Kind = "outcome" if kind == "approval" else "approval"
    with pytest.raises(ApprovalError, match="no answer for s1"):
        read_answer({"decision": word, "args": {}}, _request(kind=other))


@pytest.mark.parametrize(
    ("raw", "decision"),
    [
        ("approve", "approve"),
        ({"decision": "approve"}, "approve"),
        ({"approved": True}, "approve"),
        ({"approved": False}, "reject"),
        ({"s1": "approve"}, "approve"),
        ({"ap-s1": {"decision": "reject"}}, "reject"),
        ({"s1": {"approved": True}}, "approve"),
        ('{"decision": "approve"}', "approve"),
        ('{"s1": "reject"}', "reject"),
        ({"decision": "approve", "args": {"amount": 1}}, "edit"),
    ],
)
def test_every_form_of_an_answer_finds_its_question(raw: Any, decision: str) -> None:
    (found,) = read_answers(raw, [ONE]).items()
    assert (found[0], found[1]["decision"]) == ("ap-s1", decision)


def test_several_questions_are_answered_by_name_together_or_one_by_one() -> None:
    both = read_answers({"s1": "approve", "ap-s2": "happened"}, TWO)
    assert {key: answer["decision"] for key, answer in both.items()} == {
        "ap-s1": "approve",
        "ap-s2": "happened",
    }
    assert set(read_answers({"s2": "stop"}, TWO)) == {"ap-s2"}
    with pytest.raises(ApprovalError, match="2 questions are open"):
        read_answers("approve", TWO)


@pytest.mark.parametrize(
    "raw",
    [
        None, True, 7, [], {}, "", "yes", "approve it", "{not json", {"s9": "approve"}, {"s1": None},
        {"s1": 1}, {"s1": "approve", "s9": "approve"}, {"decision": None}, {"decision": "edit"},
        {"decision": "edit", "args": [1]}, {"decision": "reject", "then": "retry"}, {"approved": "yes"},
        {"decision": ["approve"]}, {"s1": {"decision": "happened"}},
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_short_line(raw: Any) -> None:
    with pytest.raises(ApprovalError) as refused:
        read_answers(raw, [ONE])
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=8)
        | st.sampled_from(["approve", "edit"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["decision", "approved", "args", "then", "s1", "ap-s2", "by", "x"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
def test_any_value_is_either_a_full_answer_or_refused(raw: Any) -> None:
    try:
        answers = read_answers(raw, TWO)
    except ApprovalError:
        return
    kinds = {request.id: request.kind for request in TWO}
    for approval_id, answer in answers.items():
        assert answer["decision"] in CHOICES[kinds[approval_id]]
        assert (answer["decision"] == "edit") <= isinstance(answer["args"], dict)
        assert answer["then"] in (THEN if answer["decision"] == "reject" else (None,))
        assert all(answer[name] is None or isinstance(answer[name], str) for name in ("by", "reason"))


def test_nothing_is_answered_when_nothing_is_asked() -> None:
    with pytest.raises(ApprovalError, match="no approval is pending"):
        read_answers("approve", [])


@pytest.mark.parametrize(
    ("args", "why"),
    [({"amount": "much"}, "amount"), ({"amonut": 1}, "amonut"), ({"amount": None}, "amount")],
)
def test_an_edit_is_held_to_the_tools_arguments(args: dict[str, Any], why: str) -> None:
    answer = read_answer({"decision": "edit", "args": args}, ONE)
    with pytest.raises(ApprovalError, match=why):
        check_edit(ONE, answer, REGISTRY)


def test_a_fitting_edit_and_no_edit_pass() -> None:
    check_edit(ONE, read_answer({"decision": "edit", "args": {"amount": 2, "note": "n"}}, ONE), REGISTRY)
    check_edit(ONE, read_answer("approve", ONE), REGISTRY)


def test_what_has_no_arguments_cannot_be_edited() -> None:
    llm = _request(tool=None)
    with pytest.raises(ApprovalError, match="no arguments to edit"):
        check_edit(llm, read_answer({"decision": "edit", "args": {"x": 1}}, llm), REGISTRY)
