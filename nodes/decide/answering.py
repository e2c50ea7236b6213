"""The answer in words at the end of a plan that looked things up, and what such an answer may not say."""

import json
import re
from collections.abc import Callable

from graph.plan import JSON, LlmStep, MapStep, Plan, Sources, Step, ToolStep
from tools import RegisteredTool

ANSWER = "answer"
"""The step's id, with a number behind it where a plan has that already."""

INSTRUCTION = (
    "Answer the request. First copy what answers it out of the results, name and value, then say it in one "
    "sentence in the language of the request. Say so where the results do not hold it."
)
"""Asked to copy first, a small model says what the results hold; else it picks a wrong field of theirs."""

_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[-_/]?[0-9]{2,}[A-Za-z0-9_-]*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.ASCII
)

Tools = Callable[[Step], tuple[RegisteredTool, ...]]


def with_answer(plan: Plan, tools_of: Tools, max_steps: int) -> Plan:
    """The plan, with a step at its end that answers in words where it ends in lookups.

    A plan that ends in text of a model has its answer. One that ends in a write needs none: code tells what
    was done. The step is optional: when its model fails, the results themselves are the answer.
    """
    last = last_steps(plan)
    looked_up = any(isinstance(step, (ToolStep, MapStep)) for step in last)
    if not looked_up or not all(_only_tells(step, tools_of) for step in last) or len(plan.steps) >= max_steps:
        return plan
    step = LlmStep(
        id=_free_id(plan),
        title="the answer in words",
        instruction=INSTRUCTION,
        depends_on=tuple(step.id for step in last),
        optional=True,
        role="reporter",
    )
    return plan.model_copy(update={"steps": (*plan.steps, step)})


def is_answer(step: Step) -> bool:
    """Whether the step tells a person what was found; a model that plans anew need not see it."""
    return isinstance(step, LlmStep) and step.role == "reporter"


def last_steps(plan: Plan) -> list[Step]:
    """The steps whose results no other step uses."""
    used = {dep for step in plan.steps for dep in step.depends_on}
    return [step for step in plan.steps if step.id not in used]


def made_up_fault(answer: JSON, sources: Sources) -> str | None:
    """Why nobody must be told this: it names a code such as `A1235`, or an address, without a source."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    for match in _CODE.finditer(text):
        code = match.group().rstrip("-_.")
        if sources.lacks(code):
            return f"{code!r} is neither in the results nor in the task; do not make it up"
    return None


def _only_tells(step: Step, tools_of: Tools) -> bool:
    if isinstance(step, LlmStep):
        return True
    inner = step.step if isinstance(step, MapStep) else step
    tools = tools_of(inner)
    return bool(tools) and all(tool.effect == "read" for tool in tools)


def _free_id(plan: Plan) -> str:
    taken, number = {step.id for step in plan.steps}, 1
    while (name := ANSWER if number == 1 else f"{ANSWER}{number}") in taken:
        number += 1
    return name
