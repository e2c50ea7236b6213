"""The reference model: runs a plan one step at a time, in one process that never ends early."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from nodes.decide.map_items import Tally, enough
from tests.properties.models import answer_to
from tests.properties.results import NoSuchField, NoTruth, failure, given_by, shaped
from tests.properties.specs import Answer, Condition, Form, Kind, Reply, Spec

LOST = {"failed", "skipped", "rejected"}
SETTLED = {"succeeded", "not_taken", *LOST}


class Reference:
    """Statuses, results and effects as they should be. Drive it with `settle` and `answer`.

    `possible` are effects of maps that were given up: which items came to their end before is not told.
    """

    def __init__(self, specs: tuple[Spec, ...], *, compensate: bool = False) -> None:
        self.specs: dict[str, Spec] = {spec.id: spec for spec in specs}
        self.statuses = dict.fromkeys(self.specs, "pending")
        self.outputs: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.possible: dict[str, Any] = {}
        self.run_status = ""
        self.stopped = False
        self.planned: set[str] = set()
        self._compensate = compensate
        self._wrote: set[str] = set()
        self._answers: dict[str, Answer] = {}
        self._gone_over: set[str] = set()

    def settle(self) -> None:
        """Run all that can run without a person."""
        while any(self._take(spec) for spec in list(self.specs.values())):
            pass

    def pending(self) -> set[str]:
        """Steps that wait for an answer."""
        return set() if self.stopped else self.unanswered()

    def unanswered(self) -> set[str]:
        """Steps that nobody has answered for, also where the run is stopped."""
        return {spec.id for spec in self.specs.values() if self._ready(spec) and self._waits(spec)}

    def answer(self, step_id: str, answer: Answer) -> None:
        assert step_id in self.pending()
        self._answers[self._at(self.specs[step_id]).id] = answer
        if answer.decision == "reject":
            self.statuses[step_id] = "rejected"
            self.stopped = answer.then == "stop"

    def finish(self, items_done: Mapping[str, Collection[int]]) -> None:
        """Nothing runs or is asked any more, but for undoing; `items_done` are those of each map."""
        assert not self.pending()
        for step_id, status in self.statuses.items():
            if status == "pending":
                self.statuses[step_id] = "cancelled"
        self.run_status = self._end_of_run()
        if self._compensate and self.run_status != "succeeded":
            for spec in list(self.specs.values()):
                self._undo(spec, items_done.get(spec.id, ()))

    def _end_of_run(self) -> str:
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
        if at is spec and spec.id not in self.planned:
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
        there = self._gave(spec.looks_at)
        if spec.when in (Condition.THERE, Condition.ABSENT):
            return there is (spec.when is Condition.THERE)
        if not there:
            return False
        output = self.outputs[spec.looks_at]
        if not isinstance(output, dict):
            raise NoTruth
        return (output["step"] == spec.looks_at) is (spec.when is Condition.SAME)

    def _gave(self, step_id: str) -> bool:
        return self.statuses[step_id] == "succeeded" and self.outputs[step_id] is not None

    def _lost(self, spec: Spec) -> bool:
        return any(self.statuses[dep] in LOST for dep in spec.depends_on)

    def _ready(self, spec: Spec) -> bool:
        if self.statuses[spec.id] != "pending" or (self._lost(spec) and spec.policy != "degrade"):
            return False
        return all(self.statuses[dep] in SETTLED for dep in spec.depends_on)

    def _waits(self, spec: Spec) -> bool:
        """Whether it waits for an answer; what is not taken, or cannot run anyway, is not asked about."""
        at = self._at(spec)
        if at is spec and spec.id in self.planned:
            return False
        try:
            return (at is not spec or self._taken(spec)) and self._asks(at)
        except NoTruth:
            return False

    def _asks(self, spec: Spec) -> bool:
        if spec.answer is None or spec.id in self._answers:
            return False
        if spec.kind is Kind.MAP and not any(spec.taken):
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
        if spec.kind is Kind.MAP:
            return self._run_map(spec, value)
        if spec.kind is Kind.PLAN:
            return self._run_plan(spec)
        if spec.behaviour.fails:
            return "failed"
        if spec.kind.writes:
            self.effects[spec.id] = value
        if spec.expects is False:
            self._wrote |= {spec.id} if spec.kind.writes else set()
            return "failed"
        self.outputs[step_id] = given_by(spec, value)
        return "succeeded"

    def _run_map(self, spec: Spec, value: Any) -> str:
        results: list[Any] = []
        failures: list[dict[str, Any]] = []
        effects: dict[str, Any] = {}
        data = spec.items_with(value)
        for at, (item, taken) in enumerate(zip(spec.items, spec.taken, strict=True)):
            did = next((each for each in (item, item.fallback) if each and not each.behaviour.fails), None)
            results.append(given_by(did, value) if taken and did else None)
            if taken and did and did.kind.writes:
                effects[did.id] = value
            if taken and not did:
                failures.append({"index": at, "item": data[at], **failure(item)})
        not_taken = spec.taken.count(False)
        tally = Tally(len(results), len(results) - len(failures) - not_taken, len(failures), not_taken)
        if not enough(spec.min_success, tally):
            self.possible |= effects
            return "failed"
        self.effects |= effects
        if spec.expects is False:
            return "failed"
        self.outputs[spec.id] = {"results": results, "failures": failures}
        return "succeeded"

    def _run_plan(self, spec: Spec) -> str:
        if spec.id in self.planned:
            ends = [each for each in spec.depends_on if each.startswith(f"{spec.id}.")]
            by_name = {each.removeprefix(f"{spec.id}."): self.outputs.get(each) for each in ends}
            output: Any = by_name if len(ends) > 1 else self.outputs.get(ends[0])
        elif spec.behaviour.fails or not (spec.reply.plans or spec.reply is Reply.ANSWER):
            return "failed"
        elif spec.reply.plans:
            self._splice(spec)
            return "pending"
        else:
            output = answer_to(spec)
        if spec.expects is False:
            return "failed"
        self.outputs[spec.id] = output
        return "succeeded"

    def _splice(self, spec: Spec) -> None:
        at_hand = frozenset(dep for dep in spec.depends_on if self.statuses[dep] == "succeeded")
        part = [each.within(at_hand) for each in spec.part]
        needed = {dep for each in part for dep in each.depends_on}
        ends = tuple(each.id for each in part if each.id not in needed)
        self.specs |= {each.id: each for each in part}
        self.statuses |= {each.id: "pending" for each in part}
        self.specs[spec.id] = replace(spec, depends_on=(*spec.depends_on, *ends))
        self.planned.add(spec.id)

    def _undo(self, spec: Spec, items_done: Collection[int]) -> None:
        """Undo what the step itself did; what its own write gave is forgotten once its fallback is next."""
        undo_id, over = f"{spec.id}@undo", spec.id in self._gone_over
        items = [each for at, each in enumerate(spec.items) if at in items_done and not each.behaviour.fails]
        if spec.undo is None:
            undos = [each.undo for each in items if each.undo is not None]
            if undos:
                self.statuses[undo_id] = self._undo_items(spec, undos, undo_id)
        elif spec.id in self._wrote:
            made = None if over else given_by(spec, self.effects[spec.id])
            self.statuses[undo_id] = self._undo_one(spec.undo, made, undo_id)
        elif self.statuses[spec.id] == "succeeded" and not over:
            self.statuses[undo_id] = self._undo_one(spec.undo, self.outputs[spec.id], undo_id, known=True)

    def _undo_one(self, undo: Spec, made: Any, undo_id: str, *, known: bool = False) -> str:
        try:
            if undo.refers_to is not None and made is None and not known:
                return "failed"
            value = undo.literal if undo.refers_to is None else shaped(undo.form, made)
        except NoSuchField:
            return "failed"
        if undo.behaviour.fails:
            return "failed"
        if undo.kind.writes:
            self.effects[undo.id] = value
        self.outputs[undo_id] = given_by(undo, value)
        return "succeeded"

    def _undo_items(self, spec: Spec, undos: list[Spec], undo_id: str) -> str:
        value = self._value(spec)
        ok = [each for each in undos if not each.behaviour.fails]
        effects = {each.id: value for each in ok if each.kind.writes}
        if ok != undos:
            self.possible |= effects
            return "failed"
        self.effects |= effects
        self.outputs[undo_id] = {"results": [given_by(each, value) for each in undos], "failures": []}
        return "succeeded"

    def _value(self, spec: Spec) -> Any:
        if spec.refers_to is None:
            return spec.literal
        if self.statuses[spec.refers_to] != "succeeded":
            return "got null!" if spec.form is Form.TEXT else None
        return shaped(spec.form, self.outputs[spec.refers_to])
