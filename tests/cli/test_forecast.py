"""What a plan is expected to need, from its rules and from earlier runs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints import StepEntry
from graph.build import Forecast, forecast, past_of
from graph.plan import Plan, StepStatus, parse_plan
from graph.state import Price, Settings
from nodes.decide.forecast import makespan
from tools import ToolRegistry, policy

START = datetime(2026, 1, 1, tzinfo=UTC)


@policy(effect="read")
def look(what: str) -> str:
    """Look."""
    return what


@policy(effect="write", approve_when=("amount > 100",))
def pay(amount: float) -> str:
    """Pay."""
    return str(amount)


@policy(effect="write", risk="high")
def wipe(what: str) -> str:
    """Wipe."""
    return what


REGISTRY = ToolRegistry.of(look, pay, wipe)


def _plan(*steps: dict[str, Any]) -> Plan:
    plan, problems = parse_plan({"goal": "g", "steps": list(steps)})
    assert plan is not None, problems
    return plan


def _tool(step_id: str, tool: str, **args: Any) -> dict[str, Any]:
    return {"id": step_id, "action": "tool", "tool": tool, "args": args}


def _told(plan: Plan, entries: list[StepEntry] | None = None, **more: Any) -> Forecast:
    price = more.pop("price", None)
    return forecast(plan, REGISTRY, Settings.of(more), past_of(entries or []), price)


def _entry(kind: str, seconds: float, tokens: tuple[int, int] = (0, 0)) -> StepEntry:
    tool = kind.removeprefix("tool ") if kind.startswith("tool ") else None
    return StepEntry(
        run_id="r",
        plan_id="p",
        revision=1,
        step_id="s",
        action="tool" if tool else kind,
        tool=tool,
        status=StepStatus.SUCCEEDED,
        started_at=START,
        ended_at=START + timedelta(seconds=seconds),
        model_calls=1 if tokens[0] else 0,
        input_tokens=tokens[0] or None,
        output_tokens=tokens[1] or None,
    )


def test_approvals_are_foretold_as_far_as_arguments_are_known() -> None:
    told = _told(
        _plan(
            _tool("a", "look", what="x"),
            _tool("b", "wipe", what="${a}"),
            _tool("c", "pay", amount=500),
            _tool("d", "pay", amount=5),
            _tool("e", "pay", amount="${a}"),
            {**_tool("f", "look", what="y"), "require_approval": True},
        )
    )

    assert [(each.step, each.certain) for each in told.approvals] == [
        ("b", True),
        ("c", True),
        ("e", False),
        ("f", True),
    ]
    assert told.approvals[0].risk == "high"


def test_an_agent_that_may_write_is_approved_as_a_whole_and_its_calls_are_bounded() -> None:
    agent = {"id": "a", "action": "agent", "instruction": "tidy up", "tools": ["look", "wipe"]}

    told = _told(_plan({**agent, "max_iterations": 5}))

    assert [(each.step, each.risk, each.certain) for each in told.approvals] == [("a", "high", True)]
    assert (told.tool_calls, told.agent_calls) == (0, 5)
    assert _told(_plan({**agent, "tools": ["look"]})).approvals == ()


def test_nobody_is_asked_when_the_setting_says_never() -> None:
    assert _told(_plan(_tool("b", "wipe", what="x")), approve_at="never").approvals == ()


def test_times_come_from_the_median_of_earlier_runs() -> None:
    plan = _plan(_tool("a", "look", what="x"), _tool("b", "look", what="${a}"))
    past = [_entry("tool look", seconds) for seconds in (1.0, 3.0, 100.0)]

    assert _told(plan, past).seconds == 6.0
    assert _told(plan, past).guessed == ()
    assert _told(plan).guessed == ("a", "b")


def test_tokens_and_cost_of_model_steps_are_foretold() -> None:
    plan = _plan({"id": "a", "action": "llm", "instruction": "write a poem"})
    past = [_entry("llm", 2.0, (1000, 500))]

    told = _told(plan, past, price=Price(input=1.0, output=2.0))

    assert (told.model_calls, told.input_tokens, told.output_tokens) == (1, 1000, 500)
    assert told.cost == pytest.approx(0.002)
    assert _told(plan).cost is None
    assert _told(plan).input_tokens > 0
    assert _told(_plan(_tool("a", "look", what="x"))).cost == 0.0


@st.composite
def _plans(draw: st.DrawFn) -> tuple[Plan, dict[str, float]]:
    count = draw(st.integers(1, 8))
    steps = []
    for n in range(count):
        needs = draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else set()
        steps.append({**_tool(f"s{n}", "look", what="x"), "depends_on": [f"s{m}" for m in sorted(needs)]})
    seconds = {f"s{n}": draw(st.integers(0, 9)) * 1.0 for n in range(count)}
    return _plan(*steps), seconds


@given(_plans(), st.integers(1, 4))
def test_the_makespan_lies_between_the_critical_path_and_all_in_a_row(
    drawn: tuple[Plan, dict[str, float]], cap: int
) -> None:
    plan, seconds = drawn
    alone, total = makespan(plan, seconds, len(plan.steps)), sum(seconds.values())

    assert max(alone, total / cap) <= makespan(plan, seconds, cap) <= total
    assert makespan(plan, seconds, 1) == total
