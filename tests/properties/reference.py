"""The reference model: runs a plan one step at a time, in one process that never ends early."""

from collections.abc import Mapping
from typing import Any

from tests.properties.specs import Answer, Condition, Form, Kind, Spec

LOST = {"failed", "skipped", "rejected"}
SETTLED = {"succeeded", "not_taken", *LOST}


class NoSuchField(Exception):  # noqa: N818 - an outcome of the model, not an error of the test
    """A step refers to a field that the result does not have."""


class NoTruth(Exception):  # noqa: N818 - an outcome of the model, not an error of the test
    """A condition is neither true nor false."""


class Reference:
    """Statuses, results and effects as they should be. Drive it with `settle` and `answer`."""

    def __init__(self, specs: tuple[Spec, ...]) -> None:
        self.specs: Mapping[str, Spec] = {spec.id: spec for spec in specs}
        self.statuses = dict.fromkeys(self.specs, "pending")
        self.outputs: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.stopped = False
        self._answers: dict[str, Answer] = {}
        self._gone_over: set[str] = set()

    def settle(self) -> None:
        """Run all that can run without a person."""
        while any(self._take(spec) for spec in self.specs.values()):
            pass

    def pending(self) -> set[str]:
        """Steps that wait for an answer."""
        if self.stopped:
            return set()
        return {spec.id for spec in self.specs.values() if self._ready(spec) and self._waits(spec)}

    def answer(self, step_id: str, answer: Answer) -> None:
        assert step_id in self.pending()
        self._answers[self._at(self.specs[step_id]).id] = answer
        if answer.decision == "reject":
            self.statuses[step_id] = "rejected"
            self.stopped = answer.then == "stop"

    def finish(self) -> None:
        """Nothing runs or is asked any more."""
        assert not self.pending()
        for step_id, status in self.statuses.items():
            if status == "pending":
                self.statuses[step_id] = "cancelled"

    @property
    def run_status(self) -> str:
        if self.stopped:
            return "rejected"
        lost = [
            self.statuses[spec.id]
            for spec in self.specs.values()
            if not spec.optional and self.statuses[spec.id] in ("failed", "rejected", "cancelled")
        ]
        if not lost:
            return "succeeded"
        if "succeeded" in self.statuses.values():
            return "partial"
        return "rejected" if "rejected" in self.statuses.values() and "failed" not in lost else "failed"

    def _take(self, spec: Spec) -> bool:
        """Settle one step if it can be; tell whether anything changed."""
        if self.statuses[spec.id] != "pending":
            return False
        if spec.policy == "skip" and self._lost(spec):
            self.statuses[spec.id] = "skipped"
            return True
        if spec.depends_on and all(self.statuses[dep] == "not_taken" for dep in spec.depends_on):
            self.statuses[spec.id] = "not_taken"
            return True
        if self.stopped or not self._ready(spec) or self._waits(spec):
            return False
        self.statuses[spec.id] = self._end(spec)
        return True

    def _at(self, spec: Spec) -> Spec:
        """The step, or its fallback once its own work has failed."""
        return spec.fallback if spec.id in self._gone_over and spec.fallback else spec

    def _end(self, spec: Spec) -> str:
        """How a step ends, or that it is pending still because its fallback comes next."""
        at = self._at(spec)
        if at is spec:
            try:
                if not self._taken(spec):
                    return "not_taken"
            except NoTruth:
                return "failed"
        ended = self._run(at, spec.id)
        if ended == "failed" and at is spec and spec.fallback:
            self._gone_over.add(spec.id)
            return "pending"
        return ended

    def _taken(self, spec: Spec) -> bool:
        if spec.when is None:
            return True
        if spec.looks_at is None:
            return spec.when in (Condition.SAME, Condition.THERE)
        there = self.statuses[spec.looks_at] == "succeeded"
        if spec.when in (Condition.THERE, Condition.ABSENT):
            return there is (spec.when is Condition.THERE)
        if not there:
            return False
        output = self.outputs[spec.looks_at]
        if not isinstance(output, dict):
            raise NoTruth
        return (output["step"] == spec.looks_at) is (spec.when is Condition.SAME)

    def _lost(self, spec: Spec) -> bool:
        return any(self.statuses[dep] in LOST for dep in spec.depends_on)

    def _ready(self, spec: Spec) -> bool:
        if self.statuses[spec.id] != "pending" or (self._lost(spec) and spec.policy != "degrade"):
            return False
        return all(self.statuses[dep] in SETTLED for dep in spec.depends_on)

    def _waits(self, spec: Spec) -> bool:
        """Whether it waits for an answer; what is not taken, or cannot run anyway, is not asked about."""
        at = self._at(spec)
        try:
            return (at is not spec or self._taken(spec)) and self._asks(at)
        except NoTruth:
            return False

    def _asks(self, spec: Spec) -> bool:
        if spec.answer is None or spec.id in self._answers:
            return False
        try:
            self._value(spec)
        except NoSuchField:
            return False
        return True

    def _run(self, spec: Spec, step_id: str) -> str:
        try:
            value = self._value(spec)
        except NoSuchField:
            return "failed"
        answer = self._answers.get(spec.id)
        if answer is not None and answer.edit is not None:
            value = answer.edit
        if spec.behaviour.fails:
            return "failed"
        if spec.kind.writes:
            self.effects[spec.id] = value
        if spec.expects is False:
            return "failed"
        if spec.kind is Kind.LLM:
            self.outputs[step_id] = f"said {spec.id}: {shown(value)}"
        else:
            self.outputs[step_id] = {"step": spec.id, "value": value}
        return "succeeded"

    def _value(self, spec: Spec) -> Any:
        if spec.refers_to is None:
            return spec.literal
        if self.statuses[spec.refers_to] != "succeeded":
            return "got null!" if spec.form is Form.TEXT else None
        output = self.outputs[spec.refers_to]
        if spec.form is Form.WHOLE:
            return output
        if not isinstance(output, dict):
            raise NoSuchField
        return output["value"] if spec.form is Form.FIELD else f"got {output['step']}!"


def shown(value: Any) -> str:
    """A value inside a longer text."""
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
