"""Who must be asked, what an approval is bound to, and what an answer does."""

import json
from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.plan import LlmStep, Plan, Risk, Step, StepStatus, ToolStep
from graph.state import Decision, Request, Settings
from nodes.decide.approvals import (
    allows,
    decision_from,
    digest_of,
    effective_risk,
    is_approved,
    make_request,
    rejected_for_replan,
    standing_reason,
    status_after,
    why_approval,
)
from tools import ToolRegistry, policy


@policy(effect="write", risk="medium", approve_when=("amount > 100.0",))
def refund(amount: float) -> str:
    """Pay back."""
    return str(amount)


@policy(effect="read")
def look(amount: float) -> str:
    """Look."""
    return str(amount)


REGISTRY = ToolRegistry.of(refund, look)
VALUES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([1.0, 0.5, "", "1", "步骤", "${s}"])
ARGS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES | st.lists(VALUES, max_size=2), max_size=3)
RISKS = st.sampled_from(Risk)


def _step(risk: Risk = Risk.LOW, *, tool: str = "refund", must: bool = False) -> ToolStep:
    return ToolStep(id="s", tool=tool, risk=risk, require_approval=must)


def _plan(step: Step, revision: int = 1) -> Plan:
    return Plan(plan_id="p", revision=revision, goal="g", steps=(step,))


def _request(step: Step, args: Mapping[str, Any], revision: int = 1) -> Request:
    return make_request(
        _plan(step, revision),
        step,
        kind="approval",
        run_id="r",
        risk=Risk.HIGH,
        args=args,
        shown=args,
        reason="why",
    )


def _decision(request: Request, step: Step, answer: str = "approve", **more: Any) -> Decision:
    full = {"decision": answer, "args": None, "then": None, "result": None, "by": None, "reason": None} | more
    return decision_from(full, request, step, edited=more.get("edited"), at="now")


@given(RISKS)
def test_a_plan_raises_a_tools_risk_and_never_lowers_it(risk: Risk) -> None:
    tool = REGISTRY["refund"]
    assert effective_risk(_step(risk), tool).rank == max(risk.rank, Risk.MEDIUM.rank)
    assert effective_risk(_step(risk), None) is risk


@given(RISKS, st.booleans(), st.sampled_from(["low", "medium", "high"]))
def test_a_write_at_or_above_the_line_and_what_the_plan_says_wait_for_a_person(
    risk: Risk, must: bool, line: str
) -> None:
    settings = Settings.of({"approve_at": line})
    tool = REGISTRY["refund"]
    reason = standing_reason(_step(risk, must=must), tool, settings)

    above = max(risk.rank, tool.risk.rank) >= Risk(line).rank
    assert (reason is not None) is (must or above)


@given(RISKS, st.booleans(), st.floats(0, 1000, allow_nan=False))
def test_never_asks_nobody(risk: Risk, must: bool, amount: float) -> None:
    settings = Settings.of({"approve_at": "never"})
    assert why_approval(_step(risk, must=must), REGISTRY["refund"], {"amount": amount}, settings) is None


@given(st.floats(0, 1000, allow_nan=False))
def test_a_tools_own_rule_sees_the_arguments(amount: float) -> None:
    settings = Settings.of({"approve_at": "high"})
    reason = why_approval(_step(), REGISTRY["refund"], {"amount": amount}, settings)
    assert (reason is not None) is (amount > 100)


@given(ARGS, ARGS)
def test_a_digest_is_of_the_action_and_exactly_its_arguments(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    step, other, llm = _step(), _step(tool="look"), LlmStep(id="s", instruction="i")
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (digest_of(step, one) == digest_of(step, two)) is same
    assert len({digest_of(step, one), digest_of(other, one), digest_of(llm, one)}) == 3


@pytest.mark.parametrize(("one", "two"), [(1, 1.0), (1, True), (1, "1"), (None, "null"), ([], {})])
def test_values_that_a_tool_tells_apart_have_digests_of_their_own(one: Any, two: Any) -> None:
    assert digest_of(_step(), {"x": one}) != digest_of(_step(), {"x": two})


@given(ARGS, ARGS, st.integers(1, 3), st.integers(1, 3))
def test_an_approval_holds_for_the_shown_arguments_of_the_shown_revision_only(
    shown: dict[str, Any], run: dict[str, Any], asked_in: int, runs_in: int
) -> None:
    step = _step()
    decision = _decision(_request(step, shown, asked_in), step)

    holds = is_approved(step, _plan(step, runs_in), run, decision)

    assert holds is (asked_in == runs_in and digest_of(step, shown) == digest_of(step, run))
    assert not is_approved(step, _plan(step, runs_in), run, None)


@given(ARGS, ARGS)
def test_an_edit_is_bound_to_what_the_person_wrote(shown: dict[str, Any], edit: dict[str, Any]) -> None:
    step = _step()
    edited = {**shown, **edit}
    decision = _decision(_request(step, shown), step, "edit", args=edit, edited=edited)

    assert is_approved(step, _plan(step), edited, decision)
    assert is_approved(step, _plan(step), shown, decision) is (
        digest_of(step, shown) == digest_of(step, edited)
    )


@given(ARGS, st.integers(1, 4))
def test_a_question_has_an_id_of_its_own_in_each_revision_and_kind(
    args: dict[str, Any], revision: int
) -> None:
    step = _step()
    request = _request(step, args, revision)
    outcome = make_request(
        _plan(step, revision),
        step,
        kind="outcome",
        run_id="r",
        risk=Risk.LOW,
        args=args,
        shown={},
        reason="doubt",
    )
    assert request == _request(step, args, revision)
    assert len({request.id, outcome.id, _request(step, args, revision + 1).id}) == 3


@pytest.mark.parametrize(
    ("answer", "status", "lets_run"),
    [
        ("approve", StepStatus.PENDING, True),
        ("edit", StepStatus.PENDING, True),
        ("reject", StepStatus.REJECTED, False),
        ("happened", StepStatus.SUCCEEDED, False),
        ("not_happened", StepStatus.PENDING, False),
        ("stop", StepStatus.UNKNOWN, False),
    ],
)
def test_what_an_answer_does(answer: str, status: StepStatus, *, lets_run: bool) -> None:
    step = _step()
    decision = _decision(_request(step, {}), step, answer)
    assert status_after(decision) is status
    assert allows(decision, _plan(step)) is lets_run


def test_only_a_reject_of_this_revision_asks_for_another_plan() -> None:
    step = _step()
    decisions = {
        "now": _decision(_request(step, {}, 2), step, "reject", then="replan"),
        "before": _decision(_request(step, {}, 1), step, "reject", then="replan"),
        "skipped": _decision(_request(step, {}, 2), step, "reject", then="skip"),
    }
    assert rejected_for_replan(decisions, 2) == {"now"}


def test_every_kind_of_question_has_its_answers() -> None:
    from graph.state import Kind
    from graph.state.questions import CHOICES

    assert set(CHOICES) == set(get_args(Kind))
