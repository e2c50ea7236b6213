"""Random plans as data that both the product and the reference model read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st

MAX_ATTEMPTS = 3
CAPPED_AT = 2


class Kind(StrEnum):
    """What a step does; the tools' names, and llm."""

    LOOK = "look"
    LOOK_CAPPED = "look_capped"
    LOOK_SESSION = "look_session"
    PUT = "put"
    PUT_ONCE = "put_once"
    LLM = "llm"

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


_BEHAVIOURS = {
    Kind.PUT: (Behaviour.OK, Behaviour.OK, Behaviour.LATE, Behaviour.SOFT, Behaviour.NEVER, Behaviour.HARD),
    Kind.PUT_ONCE: (
        Behaviour.OK,
        Behaviour.OK,
        Behaviour.DOUBT_DONE,
        Behaviour.DOUBT_NOT_DONE,
        Behaviour.SOFT,
        Behaviour.NEVER,
        Behaviour.HARD,
    ),
}
_READS = (Behaviour.OK, Behaviour.OK, Behaviour.OK, Behaviour.SOFT, Behaviour.NEVER, Behaviour.HARD)


class Condition(StrEnum):
    """What a step's condition asks of one of its dependencies, or of a param that is true."""

    SAME = "same"
    OTHER = "other"
    THERE = "there"
    ABSENT = "absent"

    def written(self, name: str | None) -> str:
        if name is None:
            return "params.go" if self in (Condition.SAME, Condition.THERE) else "!params.go"
        match self:
            case Condition.SAME:
                return f"{name}.step == '{name}'"
            case Condition.OTHER:
                return f"${{{name}.step != '{name}'}}"
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
    `fallback` is the call in its place, as a step that is called `IDf`.
    """

    id: str
    kind: Kind
    depends_on: tuple[str, ...]
    policy: str
    optional: bool
    refers_to: str | None
    form: Form
    behaviour: Behaviour
    failures: int
    pace: int
    session: str
    answer: Answer | None
    when: Condition | None = None
    looks_at: str | None = None
    expects: bool | None = None
    fallback: "Spec | None" = None

    def __repr__(self) -> str:
        """One line, because a failing example holds up to twelve."""
        needs = f" after {','.join(self.depends_on)} ({self.policy})" if self.depends_on else ""
        refers = f" {self.written_value}" if self.refers_to else ""
        how = f" {self.behaviour.value} {self.failures}" if self.behaviour is not Behaviour.OK else ""
        extra = " optional" if self.optional else ""
        extra += f" when {self.when.written(self.looks_at)}" if self.when else ""
        extra += "" if self.expects is None else f" expects {self.expects}"
        extra += f" else {self.fallback}" if self.fallback else ""
        asks = f" {self.answer}" if self.answer else ""
        return f"<{self.id} {self.kind.value}{needs}{refers}{how}{extra}{asks} pace {self.pace}>"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))

    def to_json(self) -> dict[str, Any]:
        shared: dict[str, Any] = {
            "id": self.id,
            "depends_on": list(self.depends_on),
            "on_dependency_failure": self.policy,
            "optional": self.optional,
            "require_approval": self.answer is not None,
            "when": self.when.written(self.looks_at) if self.when else None,
            "expect": self._written_expectation,
            "fallback": self.fallback.to_call() if self.fallback else None,
        }
        if self.kind is Kind.LLM:
            return {**shared, "action": "llm", "instruction": f"{self.id}: {self.written_value}"}
        return {**shared, "action": "tool", **self.to_call()}

    def to_call(self) -> dict[str, Any]:
        args = {"step": self.id, "value": self.written_value}
        if self.kind is Kind.LOOK_SESSION:
            args["session"] = self.session
        return {"tool": self.kind.value, "args": args}

    @property
    def _written_expectation(self) -> str | None:
        if self.expects is None:
            return None
        if self.kind is Kind.LLM:
            return "size(result) > 0" if self.expects else "size(result) == 0"
        return f"result.step == '{self.id}'" if self.expects else f"result.stop == '{self.id}'"

    @property
    def written_value(self) -> Any:
        if self.refers_to is None:
            return self.literal
        match self.form:
            case Form.WHOLE:
                return f"${{{self.refers_to}}}"
            case Form.FIELD:
                return f"${{{self.refers_to}.value}}"
            case Form.TEXT:
                return f"got ${{{self.refers_to}.step}}!"

    @property
    def literal(self) -> Any:
        return int(self.id[1:].removesuffix("f"))


def plan_json(specs: tuple[Spec, ...]) -> dict[str, Any]:
    steps = [spec.to_json() for spec in specs]
    return {"goal": "a random errand", "params": {"go": True}, "steps": steps}


def with_fallbacks(specs: Iterable[Spec]) -> dict[str, Spec]:
    """Steps and what they fall back to, by the names they go by in calls."""
    known = list(specs)
    return {spec.id: spec for spec in (*known, *(each.fallback for each in known if each.fallback))}


_ANSWERS = st.one_of(
    st.just(Answer("approve")),
    st.just(Answer("approve")),
    st.builds(Answer, st.just("edit"), edit=st.integers(1000, 1003)),
    st.builds(Answer, st.just("reject"), then=st.sampled_from(["skip", "skip", "stop"])),
)


@st.composite
def _spec(draw: st.DrawFn, index: int, *, approvals: bool) -> Spec:
    kind = draw(st.sampled_from([*Kind, Kind.PUT, Kind.PUT_ONCE]))
    before = [f"s{n}" for n in range(index)]
    needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
    refers = draw(st.sampled_from([None, *needs])) if needs else None
    answer = draw(st.none() | st.none() | _ANSWERS) if approvals else None
    if answer is not None and answer.decision == "edit" and kind is Kind.LLM:
        answer = Answer("approve")
    made = Spec(
        id=f"s{index}",
        kind=kind,
        depends_on=tuple(needs),
        policy=draw(st.sampled_from(["abort", "abort", "skip", "degrade"])),
        optional=draw(st.booleans()),
        refers_to=refers,
        form=draw(st.sampled_from(Form)),
        behaviour=draw(st.sampled_from(_BEHAVIOURS.get(kind, _READS))),
        failures=draw(st.integers(1, MAX_ATTEMPTS - 1)),
        pace=draw(st.integers(0, 3)),
        session=draw(st.sampled_from(["a", "b"])),
        answer=answer,
        when=draw(st.sampled_from([None, None, None, *Condition])),
        looks_at=draw(st.sampled_from(needs)) if needs else None,
        expects=draw(st.sampled_from([None, None, None, True, False])),
    )
    return replace(made, fallback=draw(st.none() | st.none() | _fallback(made)))


@st.composite
def _fallback(draw: st.DrawFn, of: Spec) -> Spec:
    kind = draw(st.sampled_from([Kind.LOOK, Kind.LOOK_CAPPED, Kind.PUT, Kind.PUT_ONCE]))
    return replace(
        of,
        id=f"{of.id}f",
        kind=kind,
        refers_to=draw(st.sampled_from([None, *of.depends_on])),
        form=draw(st.sampled_from(Form)),
        behaviour=draw(st.sampled_from(_BEHAVIOURS.get(kind, _READS))),
        when=None,
        expects=None,
    )


@st.composite
def specs(draw: st.DrawFn, *, max_steps: int = 12, approvals: bool = True) -> tuple[Spec, ...]:
    """A plan's steps, in any order: dependencies go to lower numbers only."""
    count = draw(st.integers(1, max_steps))
    steps = [draw(_spec(index, approvals=approvals)) for index in range(count)]
    return tuple(draw(st.permutations(steps)))
