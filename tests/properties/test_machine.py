"""A state machine: a caller starts, kills, cancels, drains, resumes and answers one run in any order."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from graph.intake import RunExistsError, RunNotFoundError
from graph.state import ApprovalError
from tests.properties.agreement import agrees
from tests.properties.drawing import specs
from tests.properties.durable import Memory
from tests.properties.harness import NO_FAULT, Fault, Harness, finish
from tests.properties.reference import Reference
from tests.properties.specs import Spec

FAULTS = st.one_of(
    st.just(NO_FAULT),
    st.builds(Fault, st.just("kill"), st.integers(1, 50)),
    st.builds(Fault, st.sampled_from(["cancel", "drain"]), st.integers(1, 6)),
)


class OneRun(RuleBasedStateMachine):
    """The run's caller. Whatever it does, the end is what the reference model says."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.ended = False

    @initialize(
        steps=specs(max_steps=6),
        concurrency=st.integers(1, 4),
        scheduling=st.sampled_from(["lanes", "lanes", "layered"]),
        compensate=st.booleans(),
    )
    def a_plan(self, steps: tuple[Spec, ...], concurrency: int, scheduling: str, *, compensate: bool) -> None:
        self.harness = Harness(
            steps, Memory(), max_concurrency=concurrency, scheduling=scheduling, compensate=compensate
        )
        self.reference = Reference(steps)

    @property
    def document(self) -> dict[str, Any]:
        return self.harness.document or {}

    @property
    def waiting(self) -> bool:
        return self.ended and self.document.get("status") == "waiting"

    def _run(self, work: Any) -> Any:
        return self.runner.run(work)

    @rule(fault=FAULTS)
    def go_on(self, fault: Fault) -> None:
        self.ended = self._run(self.harness.go_on(fault))

    @precondition(lambda self: self.waiting)
    @rule(fault=FAULTS, data=st.data())
    def answer(self, fault: Fault, data: st.DataObject) -> None:
        pending = self.harness.pending
        self.reference.settle()
        doubts = sorted(step for step, item in pending.items() if item["kind"] == "outcome")
        lost = self.harness.lost(self.reference)
        step = data.draw(st.sampled_from(doubts or lost or sorted(pending)))
        if doubts:
            given = self.harness.truth_about(step)
        else:
            answer = self.harness.specs[step].answer
            assert answer is not None
            if not lost:
                self.reference.answer(step, answer)
            given = answer.to_resume()
        self.ended = self._run(self.harness.answer({step: given}, fault))

    @precondition(lambda self: self.waiting)
    @rule(
        wrong=st.sampled_from(
            [
                {"nobody": "approve"},
                "perhaps",
                {},
                7,
                {"decision": "edit"},
                {"decision": "reject", "then": "run"},
            ]
        )
    )
    def a_wrong_answer_changes_nothing(self, wrong: Any) -> None:
        before, statuses = self.harness.pending, self.harness.statuses
        with pytest.raises(ApprovalError):
            self._run(self.harness.answer(wrong) if isinstance(wrong, dict) else self.harness.resume(wrong))
        assert self.harness.statuses == statuses
        self.ended = self._run(self.harness.go_on())
        assert self.harness.pending == before

    @precondition(lambda self: self.harness.is_open)
    @rule()
    def a_second_start_is_refused_while_the_run_is_open(self) -> None:
        calls = self.harness.world.calls.total()
        with pytest.raises(RunExistsError):
            self._run(self.harness.start())
        assert self.harness.world.calls.total() == calls

    @precondition(lambda self: self.ended and not self.waiting)
    @rule()
    def an_ended_run_tells_its_end_again(self) -> None:
        before = self.document
        calls = self.harness.world.calls.total()
        self._run(self.harness.go_on())
        assert self.document == before
        assert self.harness.world.calls.total() == calls

    @invariant()
    def no_rule_is_broken(self) -> None:
        if hasattr(self, "harness"):
            assert not self.harness.world.broken

    def teardown(self) -> None:
        with self.runner:
            if hasattr(self, "harness"):
                self._run(finish(self.harness, self.reference, lambda ids: ids[0]))
                agrees(self.harness, self.reference)


TestOneRun = OneRun.TestCase
TestOneRun.settings = settings(
    max_examples=40,
    stateful_step_count=8,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def test_there_is_nothing_to_resume_before_a_start() -> None:
    harness = Harness((), Memory(), max_concurrency=1)
    with pytest.raises(RunNotFoundError):
        asyncio.run(harness.resume("approve"))
