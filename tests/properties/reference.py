"""The reference model: runs a plan one step at a time, in one process that never ends early."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from nodes.decide.map_items import Tally, enough
from tests.properties.models import answer_to
from tests.properties.results import NoSuchField, NoTruth, failure, given_by, shaped
from tests.properties.specs import Answer, Condition, Form, Kind, Reply, Spec

LOST = {"failed", "skipped", "rejected", "cancelled"}
SETTLED = {"succeeded", "not_taken", *LOST}


class Reference:
    """Statuses, results and effects as they should be. Drive it with `settle` and `answer`.

    `possible` are effects of maps that were given up: which items came to their end before is not told.
    """

    def __init__(self, specs: tuple[Spec, ...]) -> None:
        self.specs: dict[str, Spec] = {spec.id: spec for spec in specs}
        self.statuses = dict.fromkeys(self.specs, "pending")
        self.outputs: dict[str, Any] = {}
        self.effects: dict[str, Any] = {}
        self.possible: dict[str, Any] = {}
        self.run_status = ""
        self.stopped = False
        self.planned: set[str] = set()
        self.wrote: set[str] = set()
        self._answers: dict[str, Answer] = {}
        self.gone_over: set[str] = set()

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

    def finish(self, partly: Collection[str]) -> None:
        """Nothing runs or is asked any more, but for undoing; `partly` are the maps that did some items."""
        assert not self.pending()
        for step_id, status in self.statuses.items():
            if status == "pending":
                self.statuses[step_id] = "cancelled"
        self.run_status = self._end_of_run(partly)

    def _end_of_run(self, partly: Collection[str]) -> str:
        if self.stopped:
            return "rejected"
        made_good = tuple(f"{spec.id}." for spec in self.specs.values() if self._is_made_good(spec))
        lost = [
            self.statuses[spec.id]
            for spec in self.specs.values()
            if not spec.optional and not spec.id.startswith(made_good) and self._is_missed(spec.id)
        ]
        if not lost:
            return "succeeded"
        if "succeeded" in self.statuses.values() or not self.specs.keys().isdisjoint(partly):
            return "partial"
        return "rejected" if "rejected" in self.statuses.values() and "failed" not in lost else "failed"

    def _is_made_good(self, spec: Spec) -> bool:
        """Whether it is no loss what was lost inside of the part."""
        took_over = spec.fallback is not None and self.statuses[spec.id] == "succeeded"
        return spec.kind is Kind.PLAN and (spec.optional or took_over)

    def _is_missed(self, step_id: str) -> bool:
        return self.statuses[step_id] in ("failed", "rejected", "cancelled")

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
        stuck = "." in spec.id and spec.policy == "abort" and self._lost(spec)
        if stuck and not self._touches_rejected(spec.depends_on):
            self.statuses[spec.id] = "cancelled"  # a part ends with what is left of it
            return True
        if self.stopped or not self._ready(spec) or self._waits(spec):
            return False
        self.statuses[spec.id] = self._end(spec)
        return True

    def _at(self, spec: Spec) -> Spec:
        """The step, or its fallback once its own work has failed."""
        return spec.fallback if spec.id in self.gone_over and spec.fallback else spec

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
            self.gone_over.add(spec.id)
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
        return any(state in LOST for state in self._needs(spec))

    def _needs(self, spec: Spec) -> list[str]:
        """How what it needs has ended: a part's own steps well, for it judges itself what they come to."""
        parts = {each.id for each in spec.part} if spec.id in self.planned else set()
        own = set() if self._touches_rejected(parts) else parts
        states = [(dep, self.statuses[dep]) for dep in spec.depends_on]
        return ["succeeded" if dep in own and state in SETTLED else state for dep, state in states]

    def _touches_rejected(self, step_ids: Collection[str]) -> bool:
        return any(self.statuses[each] == "rejected" for each in step_ids)

    def _ready(self, spec: Spec) -> bool:
        if self.statuses[spec.id] != "pending" or (self._lost(spec) and spec.policy != "degrade"):
            return False
        return all(state in SETTLED for state in self._needs(spec))

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
            self.value_of(spec)
        except NoSuchField:
            return False
        return True

    def _run(self, spec: Spec, step_id: str) -> str:
        try:
            value = self.value_of(spec)
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
            self.wrote |= {spec.id} if spec.kind.writes else set()
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
            if any(self._is_missed(each) and not self.specs[each].optional for each in ends):
                return "failed"
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

    def value_of(self, spec: Spec) -> Any:
        if spec.refers_to is None:
            return spec.literal
        if self.statuses[spec.refers_to] != "succeeded":
            return "got null!" if spec.form is Form.TEXT else None
        return shaped(spec.form, self.outputs[spec.refers_to])
