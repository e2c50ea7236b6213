"""Checks of tool names, arguments, policies, and of the shapes that models are to answer in."""

from collections.abc import Iterator, Mapping, Sequence

from graph.plan.catalog import ToolCatalog, ToolSpec
from graph.plan.errors import PlanProblem
from graph.plan.json_schema import schema_fault
from graph.plan.json_values import JSON
from graph.plan.messages import did_you_mean, shown
from graph.plan.parts import PlannedCall, planned_calls
from graph.plan.references import Scope, has_reference, resolve
from graph.plan.steps import AgentStep, LlmStep, MapStep, Step

_NOTHING = Scope(steps={})
_SHOWN_FAULT = 300
_CHOSEN_LATER: JSON = "${params.chosen_later}"
"""Stands for an argument that is filled in when the step runs: like a reference, nothing is known of it."""


def tool_problems(open_steps: Sequence[Step], catalog: ToolCatalog) -> Iterator[PlanProblem]:
    """Yield what is wrong with the tool calls of open steps."""
    for step in open_steps:
        unknown = [name for name in step.tool_names if catalog.get(name) is None]
        yield from (_unknown(step.id, name, catalog) for name in unknown)
        for call in planned_calls(step):
            spec = catalog.get(call.tool)
            if spec is not None:
                yield from _call_problems(step.id, call, spec)


def schema_problems(open_steps: Sequence[Step]) -> Iterator[PlanProblem]:
    """Yield which output schemas cannot be used; a bad one would be found out only once it was paid for."""
    for step in open_steps:
        work = step.step if isinstance(step, MapStep) else step
        schema = work.output_schema if isinstance(work, (LlmStep, AgentStep)) else None
        fault = None if schema is None else schema_fault(schema)
        if fault is not None:
            yield PlanProblem("bad_schema", step.id, f"output_schema cannot be used: {fault[:_SHOWN_FAULT]}")


def _unknown(step_id: str, name: str, catalog: ToolCatalog) -> PlanProblem:
    names = catalog.names()
    hint = did_you_mean(name, names) or f"; the tools are {', '.join(names[:20]) or 'none'}"
    return PlanProblem("unknown_tool", step_id, f"there is no tool {shown(name)}{hint}")


def _call_problems(step_id: str, call: PlannedCall, spec: ToolSpec) -> Iterator[PlanProblem]:
    where = f"{call.field}: {spec.name}" if call.field else spec.name
    for name in (call.args.keys() | set(call.open_args)) & spec.injected:
        message = f"{where}.{name} is filled in when the tool is called; leave it out"
        yield PlanProblem("injected_arg", step_id, message)
    args = _literals({name: value for name, value in call.args.items() if name not in spec.injected})
    args |= {name: _CHOSEN_LATER for name in call.open_args if name not in spec.injected}
    faults = spec.args_problems(args)
    for name, message in faults:
        yield PlanProblem("bad_args", step_id, f"{where}{'.' if name else ''}{name}: {message}")
    if not faults and not call.open_args and not has_reference(call.args):
        reason = spec.denied(args)
        if reason is not None:
            yield PlanProblem("forbidden", step_id, f"a rule of {where} forbids this call: {reason}")


def _literals(args: Mapping[str, JSON]) -> dict[str, JSON]:
    """Undo escapes where there is nothing to resolve, so that the tool's own value is judged."""
    return {name: value if has_reference(value) else resolve(value, _NOTHING) for name, value in args.items()}
