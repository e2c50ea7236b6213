"""The reference model: runs a plan one step at a time, in one process that never ends early."""

from collections.abc import Mapping
from typing import Any

from tests.properties.specs import Answer, Form, Kind, Spec

LOST = {"failed", "skipped", "rejected"}
SETTLED = {"succeeded", *LOST}


class NoSuchField(Exception):  # noqa: N818 - an outcome of the model, not an error of the test
    """A step refers to a field that the result does not have."""


class Reference:
    """Statuses, results and effects as they should be. Drive it with `settle` and `answer`."""

    def __init__(self, specs: tuple[Spec, ...]) -> None:
        self.specs: Mapping[str, Spec] = {spec.id: spec for spec in specs}
        self.statuses = dict.fromkeys(self.specs, "pending")
        self.outputs: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.stopped = False
        self._answers: dict[str, Answer] = {}

    def settle(self) -> None:
        """Run all that can run without a person."""
        while any(self._take(spec) for spec in self.specs.values()):
            pass

    def pending(self) -> set[str]:
        """Steps that wait for an answer."""
        if self.stopped:
            return set()
        return {spec.id for spec in self.specs.values() if self._ready(spec) and self._asks(spec)}

    def answer(self, step_id: str, answer: Answer) -> None:
        assert step_id in self.pending()
        self._answers[step_id] = answer
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
        if self.stopped or not self._ready(spec) or self._asks(spec):
            return False
        self.statuses[spec.id] = self._run(spec)
        return True

    def _lost(self, spec: Spec) -> bool:
        return any(self.statuses[dep] in LOST for dep in spec.depends_on)

    def _ready(self, spec: Spec) -> bool:
        if self.statuses[spec.id] != "pending" or (self._lost(spec) and spec.policy != "degrade"):
            return False
        return all(self.statuses[dep] in SETTLED for dep in spec.depends_on)

    def _asks(self, spec: Spec) -> bool:
        """Whether it waits for an answer; what cannot run anyway is not asked about."""
        if spec.answer is None or spec.id in self._answers:
            return False
        try:
            self._value(spec)
        except NoSuchField:
            return False
        return True

    def _run(self, spec: Spec) -> str:
        try:
            value = self._value(spec)
        except NoSuchField:
            return "failed"
        answer = self._answers.get(spec.id)
        if answer is not None and answer.edit is not None:
            value = answer.edit
        if spec.behaviour.fails:
            return "failed"
        if spec.kind is Kind.LLM:
            self.outputs[spec.id] = f"said {spec.id}: {shown(value)}"
        else:
            self.outputs[spec.id] = {"step": spec.id, "value": value}
        if spec.kind.writes:
            self.effects[spec.id] = value
        return "succeeded"

    def _value(self, spec: Spec) -> Any:
        if spec.refers_to is None:
            return spec.literal
        if self.statuses[spec.refers_to] in LOST:
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
