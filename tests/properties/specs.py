"""Random plans as data that both the product and the reference model read."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

MAX_ATTEMPTS = 3
CAPPED_AT = 2


class Kind(StrEnum):
    """What a step does; the tools' names, llm, map and plan."""

    LOOK = "look"
    LOOK_CAPPED = "look_capped"
    LOOK_SESSION = "look_session"
    PUT = "put"
    PUT_ONCE = "put_once"
    LLM = "llm"
    MAP = "map"
    PLAN = "plan"

    @property
    def writes(self) -> bool:
        return self in (Kind.PUT, Kind.PUT_ONCE)


class Behaviour(StrEnum):
    """How the calls of one step go. LATE and the doubts have their effect before they fail, or not."""

    OK = "ok"
    SOFT = "soft"
    LATE = "late"
    DOUBT_DONE = "doubt_done"
    DOUBT_NOT_DONE = "doubt_not_done"
    NEVER = "never"
    HARD = "hard"

    @property
    def fails(self) -> bool:
        return self in (Behaviour.NEVER, Behaviour.HARD)


class Reply(StrEnum):
    """What the planner's model says of a part; MENDED is a plan once a faulty one has come back."""

    PLAN = "plan"
    MENDED = "mended"
    ANSWER = "answer"
    CANNOT = "cannot"
    NONSENSE = "nonsense"

    @property
    def plans(self) -> bool:
        return self in (Reply.PLAN, Reply.MENDED)


class Condition(StrEnum):
    """What a step's condition asks of one of its dependencies, or of a param that is true."""

    SAME = "same"
    OTHER = "other"
    THERE = "there"
    ABSENT = "absent"

    def written(self, name: str | None, step_id: str | None) -> str:
        if name is None:
            return "params.go" if self in (Condition.SAME, Condition.THERE) else "!params.go"
        match self:
            case Condition.SAME:
                return f"{name}.step == '{step_id}'"
            case Condition.OTHER:
                return f"${{{name}.step != '{step_id}'}}"
            case Condition.THERE:
                return f"{name} != null"
            case Condition.ABSENT:
                return f"{name} == null"


class Form(StrEnum):
    """How a step's value refers to one of its dependencies."""

    WHOLE = "whole"
    FIELD = "field"
    TEXT = "text"


@dataclass(frozen=True)
class Answer:
    """What a person will say when asked to approve a step."""

    decision: str
    edit: int | None = None
    then: str | None = None

    def to_resume(self) -> dict[str, Any]:
        args = {} if self.edit is None else {"args": {"value": self.edit}}
        return {"decision": self.decision, "then": self.then, **args}


@dataclass(frozen=True)
class Spec:
    """One step of a random plan. `failures` is how many first calls fail softly; `pace` is its length.

    `when` is asked of the dependency `looks_at`; `expects` tells whether what is expected will be met.
    `fallback` is the call in its place, as a step that is called `IDf`, and `undo` the call that undoes it,
    `IDu`. A map has `items` of the kind `inner`, `ID#INDEX`, with calls of their own beside them; a plan step
    has the steps of its `part`, `ID.NAME`, and the planner's `reply`.
    """

    id: str
    kind: Kind
    depends_on: tuple[str, ...] = ()
    policy: str = "abort"
    optional: bool = False
    refers_to: str | None = None
    form: Form = Form.WHOLE
    behaviour: Behaviour = Behaviour.OK
    failures: int = 1
    pace: int = 0
    session: str = "a"
    answer: Answer | None = None
    when: Condition | None = None
    looks_at: str | None = None
    expects: bool | None = None
    fallback: "Spec | None" = None
    undo: "Spec | None" = None
    inner: Kind = Kind.LOOK
    items: tuple["Spec", ...] = ()
    taken: tuple[bool, ...] = ()
    min_success: float | None = None
    part: tuple["Spec", ...] = ()
    reply: Reply = Reply.PLAN

    def __repr__(self) -> str:
        """One line, because a failing example holds up to twelve."""
        needs = f" after {','.join(self.depends_on)} ({self.policy})" if self.depends_on else ""
        refers = f" {self.written_value}" if self.refers_to else ""
        how = f" {self.behaviour.value} {self.failures}" if self.behaviour is not Behaviour.OK else ""
        extra = " optional" if self.optional else ""
        extra += f" when {self.when.written(self.looks_at, self.looks_at)}" if self.when else ""
        extra += "" if self.expects is None else f" expects {self.expects}"
        extra += f" else {self.fallback}" if self.fallback else ""
        extra += f" undone by {self.undo}" if self.undo else ""
        extra += f" {self._held}" if self.kind in (Kind.MAP, Kind.PLAN) else ""
        asks = f" {self.answer}" if self.answer else ""
        return f"<{self.id} {self.kind.value}{needs}{refers}{how}{extra}{asks} pace {self.pace}>"

    @property
    def _held(self) -> str:
        if self.kind is Kind.PLAN:
            return f"{self.reply.value} {list(self.part)}"
        takes = "".join("+" if take else "-" for take in self.taken)
        return f"of {self.inner.value} {list(self.items)} {takes} min {self.min_success}"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))

    @property
    def name(self) -> str:
        """Its id in the plan that it was written in."""
        return self.id.rpartition(".")[2]

    def is_beside(self, other: str) -> bool:
        """Whether another step was written in the same plan."""
        return self.id.rpartition(".")[0] == other.rpartition(".")[0]

    def named(self, other: str) -> str:
        """What an expression of this step calls another step, or its own result."""
        if self.is_beside(other):
            return other.rpartition(".")[2]
        return f"steps['{other}']" if "." in other else other

    def within(self, at_hand: AbstractSet[str]) -> "Spec":
        """The step as the planner of its part writes it, which knows only these results beside its own."""

        def kept(other: str | None) -> str | None:
            return other if other is not None and (self.is_beside(other) or other in at_hand) else None

        return replace(
            self,
            depends_on=tuple(dep for dep in self.depends_on if kept(dep)),
            refers_to=kept(self.refers_to),
            looks_at=kept(self.looks_at),
            fallback=self.fallback and self.fallback.within(at_hand),
        )

    def to_json(self) -> dict[str, Any]:
        shared: dict[str, Any] = {
            "id": self.name,
            "depends_on": [dep.rpartition(".")[2] if self.is_beside(dep) else dep for dep in self.depends_on],
            "on_dependency_failure": self.policy,
            "optional": self.optional,
            "require_approval": self.answer is not None,
            "when": self._written_condition,
            "expect": self._written_expectation,
            "fallback": self.fallback.to_call() if self.fallback else None,
            "compensate": self.undo.to_call() if self.undo else None,
        }
        match self.kind:
            case Kind.LLM:
                return {**shared, "action": "llm", "instruction": f"{self.id}: {self.written_value}"}
            case Kind.PLAN:
                return {**shared, "action": "plan", "goal": f"{self.id}: {self.written_value}"}
            case Kind.MAP:
                mapped = {"over": self.items_with(self.written_value), "step": self._item_json}
                return {**shared, "action": "map", "min_success": self.min_success, **mapped}
            case _:
                return {**shared, "action": "tool", **self.to_call()}

    def items_with(self, value: Any) -> list[dict[str, Any]]:
        """The list that a map goes over."""
        pairs = zip(self.items, self.taken, strict=True)
        return [
            {"step": each.id, "value": value, "take": take, "else": f"{each.id}f", "undo": f"{each.id}u"}
            for each, take in pairs
        ]

    @property
    def _item_json(self) -> dict[str, Any]:
        if self.inner is Kind.LLM:
            return {"action": "llm", "instruction": "${item.step}: ${item.value}", "when": "item.take"}
        args = {"step": "${item.step}", "value": "${item.value}"}
        found = {"action": "tool", "tool": self.inner.value, "args": args, "when": "item.take"}
        first = self.items[0] if self.items else None
        if first is not None and first.fallback is not None:
            args = {"step": "${item['else']}", "value": "${item.value}"}
            found["fallback"] = {"tool": first.fallback.kind.value, "args": args}
        if first is not None and first.undo is not None:
            args = {"step": "${item.undo}", "value": "${result.value}"}
            found["compensate"] = {"tool": first.undo.kind.value, "args": args}
        return found

    def to_call(self) -> dict[str, Any]:
        args = {"step": self.id, "value": self.written_value}
        if self.kind is Kind.LOOK_SESSION:
            args["session"] = self.session
        return {"tool": self.kind.value, "args": args}

    @property
    def _written_condition(self) -> str | None:
        if self.when is None:
            return None
        return self.when.written(self.looks_at and self.named(self.looks_at), self.looks_at)

    @property
    def _written_expectation(self) -> str | None:
        if self.expects is None:
            return None
        if self.kind is Kind.LLM:
            return "size(result) > 0" if self.expects else "size(result) == 0"
        if self.kind is Kind.MAP:
            return "size(result.results) >= 0" if self.expects else "size(result.results) < 0"
        if self.kind is Kind.PLAN:
            return "params.go" if self.expects else "!params.go"
        return f"result.step == '{self.id}'" if self.expects else f"result.stop == '{self.id}'"

    @property
    def written_value(self) -> Any:
        if self.refers_to is None:
            return self.literal
        name = self.named(self.refers_to)
        match self.form:
            case Form.WHOLE:
                return f"${{{name}}}"
            case Form.FIELD:
                return f"${{{name}.value}}"
            case Form.TEXT:
                return f"got ${{{name}.step}}!"

    @property
    def literal(self) -> Any:
        return int("".join(char for char in self.id if char.isdigit()))

    def everyone(self) -> Iterator["Spec"]:
        """It and all that it holds: whoever is called by a name of its own."""
        yield self
        for each in (self.fallback, self.undo, *self.items, *self.part):
            if each is not None:
                yield from each.everyone()


def plan_json(specs: tuple[Spec, ...]) -> dict[str, Any]:
    steps = [spec.to_json() for spec in specs]
    return {"goal": "a random errand", "params": {"go": True}, "steps": steps}


def by_name(specs: Iterable[Spec]) -> dict[str, Spec]:
    """Steps and all that they hold, by the names they go by in calls."""
    return {each.id: each for spec in specs for each in spec.everyone()}
