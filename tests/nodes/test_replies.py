"""What a model said, read as data: drafts, fences and marks inside strings mislead nobody."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from graph.plan import LlmStep
from nodes.replies import BadReply, json_object_in, read_step_output, text_of
from tests.support.plans import writing

DRAFT = '{"goal":"DRAFT","steps":[]}'
CONTENT = "# T\n```python\nprint(1)\n```\nend"


def _read(text: str) -> dict[str, Any]:
    return json_object_in(text_of(AIMessage(text)))


def _plan(content: str = "${s1}") -> dict[str, Any]:
    return writing(content=content)


@pytest.mark.parametrize(
    "wrapped",
    [
        "<think>draft: ```json {draft} ``` not good</think>\n```json\n{plan}\n```",
        "perhaps {draft}</think>\n{plan}",
        "perhaps {draft}\n</think>\n\nHere it is:\n```json\n{plan}\n```\nGood luck!",
        "<think>\n</think>\n{plan}",
        "<think>first {draft}</think>{plan}",
        "{plan}",
        "```json\n{plan}\n```",
        "```\r\n{plan}\r\n```",
        "Here is the plan:\n\n{plan}\n\nThat is all.",
        "\ufeff{plan}",
    ],
)
def test_the_plan_is_found_and_a_draft_in_reasoning_is_not(wrapped: str) -> None:
    text = wrapped.replace("{draft}", DRAFT).replace("{plan}", json.dumps(_plan()))
    assert _read(text) == _plan()


@pytest.mark.parametrize(
    "unfinished", [f"<think>{DRAFT} and so on", f"\n <think>\n```json\n{DRAFT}\n```", "<think>"]
)
def test_reasoning_without_an_end_is_no_answer(unfinished: str) -> None:
    with pytest.raises(BadReply, match="empty"):
        _read(unfinished)


@pytest.mark.parametrize(
    "content",
    [
        CONTENT,
        'text {"a": {"b": 1}} text </think> end',
        "```json\n{}\n```",
        "</think>",
        "<think>x",
        "} ] ```",
    ],
)
@pytest.mark.parametrize(
    "wrapped", ["{plan}", "```json\n{plan}\n```", "<think>hm {draft}</think>\n```json\n{plan}\n```"]
)
def test_marks_inside_a_string_arrive_as_they_are(content: str, wrapped: str) -> None:
    text = wrapped.replace("{draft}", DRAFT).replace("{plan}", json.dumps(_plan(content)))
    assert _read(text) == _plan(content)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30))
def test_any_content_arrives_exactly(content: str) -> None:
    text = f"```json\n{json.dumps(_plan(content), ensure_ascii=False)}\n```"
    assert _read(text) == _plan(content)


@given(st.text(st.sampled_from('{}[]",:`<think/>\n a1\\'), max_size=40))
def test_any_text_gives_an_object_or_says_why_not(text: str) -> None:
    try:
        found = _read(text)
    except BadReply as bad:
        found = {"why": str(bad)}
    assert isinstance(found, dict)
    assert found.get("why") != ""


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (AIMessage("", additional_kwargs={"refusal": "I will not"}), "refused"),
        (AIMessage('{"a"', response_metadata={"finish_reason": "length"}), "cut off"),
        (AIMessage("  \n"), "empty"),
    ],
)
def test_a_reply_that_is_none_says_so(reply: AIMessage, why: str) -> None:
    with pytest.raises(BadReply, match=why):
        text_of(reply)


def test_choices_are_matched_without_regard_to_dress() -> None:
    step = LlmStep(id="s", instruction="i", choices=("Refund", "等待"))
    for said in ("refund", '"Refund".', " REFUND\n", "`refund`"):
        assert read_step_output(step, AIMessage(said)) == "Refund"
    assert read_step_output(step, AIMessage("等待")) == "等待"
    with pytest.raises(BadReply, match="exactly one of: Refund, 等待"):
        read_step_output(step, AIMessage("refund or 等待"))


def test_structured_output_must_fit_its_schema() -> None:
    schema: Any = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    step = LlmStep(id="s", instruction="i", output_schema=schema)
    assert read_step_output(step, AIMessage('```json\n{"n": 3}\n```')) == {"n": 3}
    for said in ('{"n": "3"}', "{}", "three"):
        with pytest.raises(BadReply):
            read_step_output(step, AIMessage(said))
