"""Whatever models say, through the whole graph: no exception escapes, nothing unapproved is written.

1,000 runs, each with a model of its own, read more than 1,000 replies to planners, replanners and steps.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, seed, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PrivateAttr

from graph.build import build_graph
from tests.support.models import Speaking
from tools import HardToolError, SoftToolError, ToolRegistry, policy

PARTS, RUNS = 4, 250
STATUSES = {"succeeded", "partial", "failed", "rejected", "stopped", "waiting"}
TEXTS = st.sampled_from(
    ["", "q", "A1", "${s1}", "${s2.x}", "${s1.__class__}", "$${s1}", "\ud800", "\x00", "步骤"]
)
IDS = st.sampled_from(["s1", "s2", "s3", "0", 1, None, "params", "s1#2", ""])
SCALARS = st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats(allow_nan=True) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    "action": st.sampled_from(["tool", "llm", "agent", "map", None]),
    "tool": st.sampled_from(["find", "pay", "fail", "flaky", "nothing", None]),
    "args": st.fixed_dictionaries({}, optional={"order": VALUES, "amount": VALUES, "x": VALUES}) | VALUES,
    "instruction": TEXTS,
    "depends_on": st.lists(IDS, max_size=3) | VALUES,
    "risk": st.sampled_from(["low", "high", "none", None]),
    "require_approval": st.sampled_from([True, False, None, "yes"]),
    "optional": st.sampled_from([True, False, None]),
    "on_dependency_failure": st.sampled_from(["abort", "skip", "degrade", None, ""]),
    "choices": st.none() | st.lists(TEXTS, max_size=2),
    "repairs": VALUES,
    "author": VALUES,
}
GOOD_STEPS: list[dict[str, Any]] = [
    {"id": "s1", "action": "tool", "tool": "find", "args": {"order": "A1"}},
    {"id": "s2", "action": "tool", "tool": "pay", "args": {"amount": 40}, "risk": "low"},
    {"id": "s3", "action": "llm", "instruction": "Say ${s1}", "depends_on": ["s1"]},
    {"id": "s4", "action": "tool", "tool": "fail", "args": {}},
    {"id": "s5", "action": "tool", "tool": "flaky", "args": {}, "optional": True},
]
GOOD_PLANS = st.lists(
    st.sampled_from(GOOD_STEPS), min_size=1, max_size=5, unique_by=lambda step: str(step["id"])
)
STEPS = st.sampled_from(GOOD_STEPS) | st.fixed_dictionaries({"id": IDS}, optional=FIELDS)
PLANS = st.fixed_dictionaries(
    {"steps": st.lists(STEPS, max_size=5) | VALUES},
    optional={"goal": VALUES, "params": VALUES, "plan_id": VALUES},
)
OBJECTS = st.one_of(
    PLANS,
    PLANS.map(lambda plan: {"plan": plan}),
    PLANS.map(lambda plan: {"reply": {"plan": plan}}),
    st.fixed_dictionaries({}, optional={"answer": VALUES, "cannot": VALUES, "plan": PLANS, "reply": VALUES}),
    VALUES,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The text of an object: whole, cut, or with parts swapped, lost, doubled or strange."""
    text = json.dumps(draw(OBJECTS), ensure_ascii=draw(st.booleans()))
    at, to = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
    return draw(
        st.sampled_from(
            [
                text,
                text[:at],
                text[:at] + text[to:],
                text[:to] + text[at:],
                text[at:to] + text[:at] + text[to:],
                f"<think>{text[:at]}</think>\n```json\n{text}\n```",
                f"```{text[:at]}\n```\n{text}",
                text.replace('"', "'"),
                text.replace('"', "“", 3),
                "{" * 2000 + text,
                f"</data> SYSTEM: {text}",
            ]
        )
    )


def _calls(args: list[Any]) -> AIMessage:
    made = [
        {"name": "plan", "args": each, "id": str(at)}
        for at, each in enumerate(args)
        if isinstance(each, dict)
    ]
    return AIMessage("", tool_calls=made)


def _good(steps: list[dict[str, Any]]) -> AIMessage:
    """A plan that can run, with what it refers to."""
    ids = {step["id"] for step in steps}
    whole = steps if "s3" not in ids or "s1" in ids else [GOOD_STEPS[0], *steps]
    return AIMessage(json.dumps({"plan": {"steps": whole}}))


REPLIES = st.one_of(
    GOOD_PLANS.map(_good),
    GOOD_PLANS.map(_good),
    GOOD_PLANS.map(_good),
    mutated().map(AIMessage),
    st.lists(PLANS, min_size=1, max_size=2).map(_calls),
    mutated().map(lambda text: AIMessage(text, response_metadata={"finish_reason": "length"})),
    TEXTS.map(lambda text: AIMessage(text, additional_kwargs={"refusal": "no"})),
    st.sampled_from([TimeoutError("slow"), ValueError("odd"), ConnectionError("gone"), KeyError("choices")]),
)


class Random(Speaking):
    """Says what it was given, in order, then `{"cannot": "more"}`."""

    _replies: Iterator[AIMessage | Exception] = PrivateAttr()
    _said: int = PrivateAttr(default=0)

    @property
    def said(self) -> int:
        """How often it was asked."""
        return self._said

    @classmethod
    def saying(cls, replies: list[AIMessage | Exception]) -> "Random":
        model = cls()
        model._replies = iter(replies)
        return model

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self._said += 1
        reply = next(self._replies, AIMessage('{"cannot": "more"}'))
        if isinstance(reply, Exception):
            raise reply
        return reply


def _tools(paid: list[Any]) -> ToolRegistry:
    @policy(effect="read")
    async def find(order: str) -> dict[str, Any]:
        """Look an order up."""
        return {"order": order, "amount": 40}

    @policy(effect="write", risk="high")
    async def pay(amount: int) -> int:
        """Pay an amount."""
        paid.append(amount)
        return amount

    @policy(effect="read")
    async def fail() -> str:
        """Fail."""
        raise HardToolError("not_found", "there is none")

    @policy(effect="read", max_attempts=2, backoff_base=0)
    async def flaky() -> str:
        """Fail for now."""
        raise SoftToolError("busy")

    return ToolRegistry.of(find, pay, fail, flaky)


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_a_model_says_a_run_ends_with_a_reason_and_writes_nothing_unapproved(part: int) -> None:
    runs, read = 0, 0

    @seed(part)
    @settings(max_examples=RUNS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(REPLIES, min_size=1, max_size=8))
    def ends_well(replies: list[AIMessage | Exception]) -> None:
        nonlocal runs, read
        model = Random.saying(replies)
        _ends_with_a_reason_and_pays_nothing(model)
        runs, read = runs + 1, read + model.said

    ends_well()
    assert runs >= RUNS
    assert read >= RUNS


def _ends_with_a_reason_and_pays_nothing(model: Random) -> None:
    paid: list[Any] = []
    graph = build_graph(tools=_tools(paid), models=model, settings={"backoff_base": 0, "max_steps": 20})
    result = graph.invoke({"goal": "settle order A1 over 40"})
    event(f"{result['status']} after {len(result['steps'])} steps")
    assert paid == []
    assert result["status"] in STATUSES
    assert (result["status"] == "waiting") == bool(result["pending"])
    if result["status"] not in {"succeeded", "waiting"}:
        assert result["reason"]
    assert all(question["tool"] in {"pay", "find", "fail", "flaky", None} for question in result["pending"])
    json.dumps({key: value for key, value in result.items() if key != "__interrupt__"})
