"""What a plan will need: approvals, calls, tokens, cost and time, told from rules and from earlier runs."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from checkpoints import StepEntry
from graph.plan import (
    AgentStep,
    Plan,
    Step,
    StepStatus,
    ToolStep,
    dependents,
    fallback_step,
    has_reference,
    longest_remaining,
    topological_order,
)
from graph.state import Price, Settings
from nodes.decide.approvals import agent_reason, effective_risk, standing_reason
from nodes.decide.budget import PER_MILLION, estimated_tokens
from tools import RegisteredTool

GUESSED_SECONDS = {"tool": 1.0}
GUESSED_MODEL_SECONDS = 5.0
PROMPT_FRAME_TOKENS = 60
GUESSED_RESULT_TOKENS = 150
"""Of one result that a prompt shows, while no run has told better."""
GUESSED_ANSWER_TOKENS = 200

Tools = Mapping[str, RegisteredTool]


@dataclass(frozen=True)
class Past:
    """Medians of what steps took in earlier runs, by `tool NAME` or action: seconds, tokens in and out."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    tokens: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class ExpectedApproval:
    """A step that will wait for a person; `certain` is False when that depends on its arguments."""

    step: str
    tool: str | None
    risk: str
    reason: str
    certain: bool


@dataclass(frozen=True)
class Forecast:
    """What a plan will need if no step fails. `guessed` are the steps that no earlier run has timed.

    `agent_calls` are the tool calls that its agents may make at most, each with a model call; they are in no
    other number, since nobody knows how many it will be.

    `conditional` are the steps that conditions may leave out; the numbers count them as taken.

    `seconds` is the makespan under the cap on steps at once, without anybody's time to decide; `cost` is None
    when a model is asked and has no price.
    """

    approvals: tuple[ExpectedApproval, ...]
    tool_calls: int
    model_calls: int
    agent_calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    seconds: float
    guessed: tuple[str, ...]
    conditional: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def past_of(entries: Iterable[StepEntry]) -> Past:
    """The medians of steps that succeeded, from any runs."""
    seconds: dict[str, list[float]] = defaultdict(list)
    tokens: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for entry in entries:
        if entry.status is not StepStatus.SUCCEEDED or entry.item is not None or _is_borrowed(entry):
            continue
        kind = f"tool {entry.tool}" if entry.tool else entry.action
        if entry.started_at is not None and entry.ended_at is not None:
            seconds[kind].append(max(0.0, (entry.ended_at - entry.started_at).total_seconds()))
        if entry.model_calls and entry.input_tokens:
            tokens[kind].append((entry.input_tokens, entry.output_tokens or 0))
    halves = {kind: _medians(pairs) for kind, pairs in tokens.items()}
    return Past({kind: median(taken) for kind, taken in seconds.items()}, halves)


def _is_borrowed(entry: StepEntry) -> bool:
    """Whether it took an earlier result, or several calls of several tools: it tells nothing of its own."""
    return entry.age is not None or entry.fallback is not None


def _medians(pairs: list[tuple[int, int]]) -> tuple[int, int]:
    told, said = zip(*pairs, strict=True)
    return int(median(told)), int(median(said))


def forecast(plan: Plan, tools: Tools, settings: Settings, past: Past, price: Price | None) -> Forecast:
    """What the plan will need; `price` is that of the executor model, where there is one."""
    asking = [step for step in plan.steps if step.asks_model]
    spent = [_tokens(step, plan, past) for step in asking]
    told, said = sum(each[0] for each in spent), sum(each[1] for each in spent)
    durations = {step.id: _seconds(step, past) for step in plan.steps}
    return Forecast(
        approvals=tuple(_approvals(plan, tools, settings)),
        tool_calls=sum(isinstance(step, ToolStep) for step in plan.steps),
        model_calls=len(asking),
        agent_calls=sum(step.max_iterations for step in plan.steps if isinstance(step, AgentStep)),
        input_tokens=told,
        output_tokens=said,
        cost=_cost(told, said, price) if asking else 0.0,
        seconds=makespan(plan, durations, settings.max_concurrency),
        guessed=tuple(step.id for step in plan.steps if _kind(step) not in past.seconds),
        conditional=conditional_steps(plan),
    )


def conditional_steps(plan: Plan) -> tuple[str, ...]:
    """The steps that may not be taken: those with a condition, and those that only such ones lead to."""
    found: set[str] = set()
    for step_id in topological_order(plan.steps):
        step = plan.step(step_id)
        if step.when is not None or (step.depends_on and set(step.depends_on) <= found):
            found.add(step_id)
    return tuple(step.id for step in plan.steps if step.id in found)


def _approvals(plan: Plan, tools: Tools, settings: Settings) -> Iterator[ExpectedApproval]:
    """The approvals of all steps, and those of what they fall back to: nobody knows whether that comes."""
    perhaps = frozenset(conditional_steps(plan))
    for step in plan.steps:
        if found := _approval(step, tools, settings):
            yield replace(found, certain=found.certain and step.id not in perhaps)
        other = fallback_step(step)
        if other is not None and (found := _approval(other, tools, settings)):
            yield replace(found, reason=f"its fallback: {found.reason}", certain=False)


def _approval(step: Step, tools: Tools, settings: Settings) -> ExpectedApproval | None:
    tool = tools.get(step.tool) if isinstance(step, ToolStep) else None
    if settings.approve_at == "never":
        return None
    used = [tools[name] for name in step.own_tools if name in tools]
    reason, certain = agent_reason(step, used, settings) or standing_reason(step, tool, settings), True
    if reason is None and tool is not None and isinstance(step, ToolStep) and tool.policy.approve_when:
        certain = not step.open_args and not has_reference(step.args)
        reason = (
            tool.needs_approval(step.args) if certain else "its tool's policy, depending on its arguments"
        )
    if reason is None:
        return None
    name = step.tool if isinstance(step, ToolStep) else None
    return ExpectedApproval(step.id, name, effective_risk(step, *used).value, reason, certain)


def _kind(step: Step) -> str:
    return f"tool {step.tool}" if isinstance(step, ToolStep) else step.action


def _seconds(step: Step, past: Past) -> float:
    guess = GUESSED_SECONDS.get(step.action, GUESSED_MODEL_SECONDS)
    return past.seconds.get(_kind(step), guess)


def _tokens(step: Step, plan: Plan, past: Past) -> tuple[int, int]:
    known = past.tokens.get(_kind(step))
    if known is not None:
        return known
    words = f"{plan.goal} {getattr(step, 'instruction', '')} {step.title}"
    results = GUESSED_RESULT_TOKENS * len(step.depends_on)
    answer = getattr(step, "token_budget", None) or GUESSED_ANSWER_TOKENS
    return PROMPT_FRAME_TOKENS + estimated_tokens(words) + results, min(answer, GUESSED_ANSWER_TOKENS)


def _cost(told: int, said: int, price: Price | None) -> float | None:
    return None if price is None else (told * price.input + said * price.output) / PER_MILLION


def makespan(plan: Plan, durations: Mapping[str, float], cap: int) -> float:
    """Seconds from the first start to the last end, longest remaining path first, at most `cap` at once."""
    rest = longest_remaining(plan, durations)
    after = dependents(plan.steps)
    waits = {step.id: len(set(step.depends_on)) for step in plan.steps}
    order = {step_id: place for place, step_id in enumerate(topological_order(plan.steps))}
    ready = [(-rest[step_id], order[step_id], step_id) for step_id, count in waits.items() if count == 0]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cap:
            step_id = heapq.heappop(ready)[2]
            heapq.heappush(running, (now + durations[step_id], step_id))
        now, done = heapq.heappop(running)
        for later in after[done]:
            waits[later] -= 1
            if waits[later] == 0:
                heapq.heappush(ready, (-rest[later], order[later], later))
    return now
