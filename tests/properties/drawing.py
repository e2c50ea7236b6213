"""How random plans are drawn."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.properties.specs import MAX_ATTEMPTS, Answer, Behaviour, Condition, Form, Kind, Reply, Spec

READS = (Behaviour.OK, Behaviour.OK, Behaviour.OK, Behaviour.SOFT, Behaviour.NEVER, Behaviour.HARD)
BEHAVIOURS = {
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
CALLS = (Kind.LOOK, Kind.LOOK_CAPPED, Kind.PUT, Kind.PUT_ONCE)
_TOOLS = (*CALLS, Kind.LOOK_SESSION, Kind.PUT, Kind.PUT_ONCE)
_DEEPEST = 2
"""As deep as the setting `max_plan_depth` lets parts be inside each other."""
_PLAIN = (Kind.MAP, Kind.PLAN)
"""Kinds whose results have no fields that a random reference could name."""

_ANSWERS = st.one_of(
    st.just(Answer("approve")),
    st.just(Answer("approve")),
    st.builds(Answer, st.just("edit"), edit=st.integers(1000, 1003)),
    st.builds(Answer, st.just("reject"), then=st.sampled_from(["skip", "skip", "stop"])),
)


@dataclass(frozen=True)
class Scope:
    """Where a step is drawn: in a part so deep; `lossy` maps may be given up before all items have run."""

    approvals: bool = True
    lossy: bool = True
    depth: int = 0
    most_parts: int = 3

    @property
    def kinds(self) -> tuple[Kind, ...]:
        plan = () if self.depth == _DEEPEST else (Kind.PLAN,) * 3
        return (*_TOOLS, Kind.LLM, *(Kind.MAP,) * 3, *plan)


@st.composite
def specs(
    draw: st.DrawFn, *, max_steps: int = 12, approvals: bool = True, lossy: bool = True
) -> tuple[Spec, ...]:
    """A plan's steps, in any order: dependencies go to lower numbers only."""
    return _steps(draw, Scope(approvals=approvals, lossy=lossy), "s", (), max_steps)


def _steps(
    draw: st.DrawFn, scope: Scope, prefix: str, outer: tuple[Spec, ...], most: int
) -> tuple[Spec, ...]:
    found: list[Spec] = []
    for index in range(draw(st.integers(1, most))):
        found.append(_step(draw, scope, f"{prefix}{index}", (*outer, *found)))
    return tuple(draw(st.permutations(found)))


def _step(draw: st.DrawFn, scope: Scope, step_id: str, before: tuple[Spec, ...]) -> Spec:
    kind = draw(st.sampled_from(scope.kinds))
    needs = draw(st.lists(st.sampled_from(before), unique=True, max_size=3)) if before else []
    looks_at = draw(st.sampled_from(needs)) if needs else None
    asked = list(Condition)
    if looks_at is not None and looks_at.kind in _PLAIN:
        asked = [Condition.THERE, Condition.ABSENT]
    refers_to, form = _value(draw, needs)
    made = Spec(
        id=step_id,
        kind=kind,
        depends_on=tuple(each.id for each in needs),
        policy=draw(st.sampled_from(["abort", "abort", "skip", "degrade"])),
        optional=draw(st.booleans()),
        refers_to=refers_to,
        form=form,
        behaviour=draw(st.sampled_from(BEHAVIOURS.get(kind, READS))),
        failures=draw(st.integers(1, MAX_ATTEMPTS - 1)),
        pace=draw(st.integers(0, 3)),
        session=draw(st.sampled_from(["a", "b"])),
        answer=_answer(draw, kind) if scope.approvals else None,
        when=draw(st.sampled_from([None, None, None, *asked])),
        looks_at=None if looks_at is None else looks_at.id,
        expects=draw(st.sampled_from([None, None, None, True, False])),
    )
    if draw(st.integers(0, 2)) == 0:
        made = replace(made, fallback=_fallback(draw, made, needs))
    undone = draw(st.booleans())
    if kind is Kind.MAP:
        made = _with_items(draw, made, scope, undone=undone)
    if kind is Kind.PLAN:
        made = _with_part(draw, made, scope, tuple(needs))
    if undone and not (made.items and made.items[0].undo):
        made = replace(made, undo=_undo(draw, made))
    return made


def _value(draw: st.DrawFn, needs: list[Spec]) -> tuple[str | None, Form]:
    refers = draw(st.sampled_from([None, *needs])) if needs else None
    form = draw(st.sampled_from(Form))
    if refers is None:
        return None, form
    return refers.id, Form.WHOLE if refers.kind in _PLAIN else form


def _answer(draw: st.DrawFn, kind: Kind) -> Answer | None:
    answer = draw(st.none() | st.none() | _ANSWERS)
    edits = answer is not None and answer.decision == "edit"
    return Answer("approve") if edits and kind in (Kind.LLM, *_PLAIN) else answer


def _call(draw: st.DrawFn, of: Spec, suffix: str, kinds: tuple[Kind, ...], **more: Any) -> Spec:
    kind = draw(st.sampled_from(kinds))
    return Spec(
        id=f"{of.id}{suffix}",
        kind=kind,
        behaviour=draw(st.sampled_from(BEHAVIOURS.get(kind, READS))),
        failures=draw(st.integers(1, MAX_ATTEMPTS - 1)),
        pace=of.pace,
        **more,
    )


def _fallback(draw: st.DrawFn, of: Spec, needs: list[Spec]) -> Spec:
    refers_to, form = _value(draw, needs)
    # After a kill nobody knows what became of a write under a key: another then need not follow it.
    risky = of.kind is Kind.PUT and of.behaviour is Behaviour.NEVER
    kinds = CALLS[:2] if risky else CALLS
    shared = {"depends_on": of.depends_on, "answer": of.answer, "session": of.session}
    return _call(draw, of, "f", kinds, refers_to=refers_to, form=form, **shared)


def _undo(draw: st.DrawFn, of: Spec) -> Spec:
    form = Form.WHOLE if of.kind in _PLAIN else draw(st.sampled_from(Form))
    return _call(
        draw, of, "u", (*CALLS, Kind.PUT), refers_to=draw(st.sampled_from([None, "result"])), form=form
    )


def _with_items(draw: st.DrawFn, of: Spec, scope: Scope, *, undone: bool) -> Spec:
    inner = draw(st.sampled_from((*CALLS, Kind.PUT, Kind.LLM)))
    other = draw(st.sampled_from([None, Kind.LOOK, Kind.PUT])) if inner is not Kind.LLM else None
    undo = draw(st.sampled_from([None, Kind.LOOK, Kind.PUT, Kind.PUT, Kind.PUT_ONCE])) if undone else None
    behaviours = BEHAVIOURS.get(inner, READS)
    if inner is Kind.LLM:
        behaviours = (Behaviour.OK, Behaviour.SOFT)
    if inner is Kind.PUT and other is Kind.PUT:
        behaviours = tuple(each for each in behaviours if each is not Behaviour.NEVER)
    items = []
    for at in range(draw(st.integers(0, 4))):
        item = replace(
            _call(draw, of, f"#{at}", (inner,)),
            behaviour=draw(st.sampled_from(behaviours)),
            pace=draw(st.integers(0, 2)),
        )
        if other is not None:
            item = replace(item, fallback=_call(draw, item, "f", (other,)))
        if undo is not None and inner is not Kind.LLM:
            item = replace(item, undo=_call(draw, item, "u", (undo,)))
        items.append(item)
    taken = tuple(draw(st.sampled_from([True, True, True, False])) for _ in items)
    wanted = draw(st.sampled_from([None, None, 0, 1, 2, 0.5, 1.0])) if scope.lossy else 0
    return replace(of, inner=inner, items=tuple(items), taken=taken, min_success=wanted)


def _with_part(draw: st.DrawFn, of: Spec, scope: Scope, needs: tuple[Spec, ...]) -> Spec:
    reply = draw(st.sampled_from([*Reply, Reply.PLAN, Reply.PLAN, Reply.PLAN]))
    deeper = replace(scope, depth=scope.depth + 1)
    prefix = f"{of.id}.{'stu'[deeper.depth]}"
    part = _steps(draw, deeper, prefix, needs, scope.most_parts) if reply.plans else ()
    return replace(of, reply=reply, part=part)
