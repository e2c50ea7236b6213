"""Making the next revision of a plan, and comparing two."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count

from graph.plan.canonical import canonical_json
from graph.plan.implied import with_implied_dependencies
from graph.plan.models import Plan
from graph.plan.renaming import can_be_named, renamed_step, step_name
from graph.plan.steps import Step

_WORK = frozenset(
    {
        *("action", "tool", "args", "fill"),
        *("instruction", "output_schema", "choices", "tools", "max_iterations"),
        *("over", "step", "goal"),
    }
)


def merge_replan(old: Plan, proposal: Plan, completed: AbstractSet[str], author: str = "replanner") -> Plan:
    """Make the next revision: completed steps as they were, then the proposal's other steps.

    Repeating a completed step with the same work is harmless and dropped. One that asks for other work
    under the same id is kept, so that `check_plan` reports it as changes_completed_step.

    Args:
        old: The revision that ran.
        proposal: What is to replace its open steps; its params only add to the old ones.
        completed: Ids of steps of `old` that are done.
        author: Who made the proposal.
    """
    proposed = {step.id: step for step in reversed(proposal.steps)}
    kept = [_keep(step, proposed.get(step.id)) for step in old.steps if step.id in completed]
    kept_ids = {step.id for step in kept}
    merged = Plan(
        plan_id=old.plan_id,
        revision=old.revision + 1,
        parent_revision=old.revision,
        author=author,
        goal=old.goal,
        assumptions=proposal.assumptions,
        repairs=proposal.repairs,
        params={**proposal.params, **old.params},
        steps=(*kept, *(step for step in proposal.steps if step.id not in kept_ids)),
    )
    return _implied_for_open_steps(merged, completed)


def with_own_ids(
    old: Plan,
    proposal: Plan,
    completed: AbstractSet[str],
    *,
    added: AbstractSet[str],
    moves: Callable[[Step], bool],
) -> Plan:
    """Give steps of a proposal that ask for other work under the id of a completed step ids of their own.

    By that id the proposal means its own step; that step itself can but mean the completed one, and so do the
    steps that are not the proposer's.

    Args:
        old: The revision that ran.
        proposal: What is to replace its open steps.
        completed: Ids of steps of `old` that are done.
        added: Ids of steps of `old` that were put into the proposal, so that it may refer to them.
        moves: Whether a step may get another id; one that does not is kept, for `check_plan` to report.
    """
    done = {step.id: step for step in old.steps if step.id in completed}
    same = {s.id for s in proposal.steps if s.id in done and same_work(s, done[s.id])}
    times = Counter(step.id for step in proposal.steps)
    clashing = [s.id for s in proposal.steps if s.id in done.keys() - same and moves(s) and times[s.id] == 1]
    ids = [step.id for step in (*old.steps, *proposal.steps)]
    moved = {name: _free_id(name, ids) for name in clashing if can_be_named(name)}
    if not moved:
        return proposal
    theirs = added | same
    return proposal.model_copy(
        update={
            "steps": tuple(s if s.id in theirs else _moved(s, moved) for s in proposal.steps),
            "repairs": (*proposal.repairs, *(f"{a}: named {b}, as {a} is done" for a, b in moved.items())),
        }
    )


def _free_id(name: str, taken: Collection[str]) -> str:
    return next(free for number in count(2) if (free := f"{name}_{number}") not in taken)


def _moved(step: Step, moved: Mapping[str, str]) -> Step:
    others = {name: new for name, new in moved.items() if name != step.id}
    names = {name: step_name(new) for name, new in others.items()}
    depends_on = tuple(others.get(dep, dep) for dep in step.depends_on)
    place = {"id": moved.get(step.id, step.id), "depends_on": depends_on}
    return renamed_step(step, names).model_copy(update=place)


def without_needless(plan: Plan, untaken: AbstractSet[str], completed: AbstractSet[str]) -> Plan:
    """Leave out branches that were not taken, except those that a step to come still asks about.

    Args:
        plan: A new revision, with the branches of the one before that were not taken.
        untaken: Their ids.
        completed: Ids of steps that are done; what these once asked about is over.
    """
    steps = {step.id: step for step in plan.steps}
    todo = [step for step in plan.steps if step.id not in untaken | completed]
    needed: set[str] = set()
    while todo:
        for each in todo.pop().depends_on:
            if each in untaken and each not in needed and set(steps[each].depends_on) <= steps.keys():
                needed.add(each)
                todo.append(steps[each])
    kept = tuple(step for step in plan.steps if step.id not in untaken or step.id in needed)
    return plan if len(kept) == len(plan.steps) else plan.model_copy(update={"steps": kept})


def same_work(first: Step, second: Step) -> bool:
    """Tell whether two steps do the same, whatever their titles, risks and dependencies."""
    return _work(first) == _work(second)


def _work(step: Step) -> str:
    return canonical_json({key: value for key, value in step.to_json().items() if key in _WORK})


def _keep(step: Step, proposed: Step | None) -> Step:
    return step if proposed is None or same_work(step, proposed) else proposed


def _implied_for_open_steps(plan: Plan, completed: AbstractSet[str]) -> Plan:
    implied = with_implied_dependencies(plan)
    pairs = zip(plan.steps, implied.steps, strict=True)
    steps = tuple(before if before.id in completed else after for before, after in pairs)
    return plan.model_copy(update={"steps": steps})


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """What a revision changed: step ids added and removed, and (id, fields) of changed steps.

    `plan_fields` names the plan's own fields that differ.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plan_fields: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return bool(self.added or self.removed or self.changed or self.plan_fields)

    def __str__(self) -> str:
        """Return one line per difference, or `no changes`."""
        lines = [f"+ {step_id}" for step_id in self.added]
        lines += [f"- {step_id}" for step_id in self.removed]
        lines += [f"~ {step_id}: {', '.join(fields)}" for step_id, fields in self.changed]
        lines += [f"~ plan: {', '.join(self.plan_fields)}"] if self.plan_fields else []
        return "\n".join(lines) or "no changes"


def diff_plans(a: Plan, b: Plan) -> PlanDiff:
    """Compare two revisions; revision numbers, authors and the order of steps do not count."""
    before, after = {step.id: step for step in a.steps}, {step.id: step for step in b.steps}
    pairs = [(step_id, before[step_id], after[step_id]) for step_id in after if step_id in before]
    return PlanDiff(
        added=tuple(step_id for step_id in after if step_id not in before),
        removed=tuple(step_id for step_id in before if step_id not in after),
        changed=tuple((step_id, _different(old, new)) for step_id, old, new in pairs if _different(old, new)),
        plan_fields=tuple(
            name for name in ("goal", "assumptions", "params") if getattr(a, name) != getattr(b, name)
        ),
    )


def _different(old: Step, new: Step) -> tuple[str, ...]:
    # Compared as text, because Python finds 1, 1.0 and True equal; a tool may not.
    before = {name: canonical_json(value) for name, value in old.to_json().items()}
    after = {name: canonical_json(value) for name, value in new.to_json().items()}
    return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))
