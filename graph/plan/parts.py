"""The parts of a step that hold expressions, and the tool calls a step may come to."""

from collections.abc import Iterator
from dataclasses import dataclass

from graph.plan.expressions import INDEX, ITEM, RESULT, Expression
from graph.plan.json_values import JSON
from graph.plan.references import condition_expression, references
from graph.plan.steps import MapStep, PlanStep, Step, ToolStep

WORKS_ON = {"tool": "args", "llm": "instruction", "agent": "instruction", "map": "over", "plan": "goal"}
"""The field of each kind of step that says what it works on."""

_NONE: frozenset[str] = frozenset()
_OF_ITEM = frozenset({ITEM, INDEX})
_OF_RESULT = frozenset({RESULT})


@dataclass(frozen=True, slots=True)
class Part:
    """One field of a step with its expressions.

    `local_names` are what expressions may name here beside steps and params: `item` and `index` inside a
    map, `result` where the step's own result is known. `is_condition` tells that the value must be true or
    false.
    """

    field: str
    expressions: tuple[Expression, ...]
    local_names: frozenset[str] = _NONE
    is_condition: bool = False


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A tool call that a step may come to; `field` is where it stands: "", fallback, compensate or step."""

    field: str
    tool: str
    args: dict[str, JSON]
    open_args: tuple[str, ...] = ()


def referring_value(step: Step) -> JSON:
    """Return what a step works on, in which references count: arguments, instruction, list or goal."""
    match step:
        case ToolStep():
            return step.args
        case MapStep():
            return step.over
        case PlanStep():
            return step.goal
        case _:
            return step.instruction


def step_references(step: Step) -> tuple[Expression, ...]:
    """Return the references of what a step works on, in order of appearance."""
    return references(referring_value(step))


def step_parts(step: Step) -> tuple[Part, ...]:
    """Return all parts of a step that hold expressions, those of a map's inner step as `step.FIELD`."""
    return tuple(_parts(step, _NONE))


def all_references(step: Step) -> tuple[Expression, ...]:
    """Return the references of all parts of a step, in order of appearance."""
    return tuple(expression for part in step_parts(step) for expression in part.expressions)


def planned_calls(step: Step) -> Iterator[PlannedCall]:
    """Yield the tool calls a step may come to, except those that a model chooses as it goes."""
    if isinstance(step, ToolStep):
        yield PlannedCall("", step.tool, step.args, step.open_args)
    elif isinstance(step, MapStep):
        for call in planned_calls(step.step):
            yield PlannedCall(_inner(call.field), call.tool, call.args, call.open_args)
    for name, beside in (("fallback", step.fallback), ("compensate", step.compensate)):
        if beside is not None:
            yield PlannedCall(name, beside.tool, beside.args)


def fallback_step(step: Step) -> ToolStep | None:
    """Return what is called when a step's own work has failed for good, as a step in its place, or None.

    It is judged as any step is: the plan's own demands on the step hold for it too.
    """
    if step.fallback is None:
        return None
    return ToolStep(
        id=step.id,
        title=step.title,
        depends_on=step.depends_on,
        risk=step.risk,
        require_approval=step.require_approval,
        tool=step.fallback.tool,
        args=step.fallback.args,
    )


def _parts(step: Step, around: frozenset[str]) -> Iterator[Part]:
    yield Part(WORKS_ON[step.action], step_references(step), around)
    if isinstance(step, MapStep):
        for part in _parts(step.step, _OF_ITEM):
            yield Part(_inner(part.field), part.expressions, part.local_names, part.is_condition)
    if step.when is not None:
        yield Part("when", (condition_expression(step.when),), around, is_condition=True)
    if step.expect is not None:
        yield Part("expect", (condition_expression(step.expect),), around | _OF_RESULT, is_condition=True)
    if step.fallback is not None:
        yield Part("fallback", references(step.fallback.args), around)
    if step.compensate is not None:
        yield Part("compensate", references(step.compensate.args), around | _OF_RESULT)


def _inner(field: str) -> str:
    return f"step.{field}" if field else "step"
