"""Whether another plan is worth asking for: what it would take at least, against what is left."""

import json
from collections.abc import Iterable, Sequence

from graph.plan import Plan, Step, ToolStep
from graph.state import Price
from nodes.decide.budget import UNITS, Limits, Used, cost_of, estimated_tokens, lacking

LEAST_PLAN_TOKENS = 60
LEAST_STEP_TOKENS = 100


def planning_need(prompt_tokens: int, plan: Plan, open_steps: Iterable[str], price: Price | None) -> Used:
    """One planning call, with an answer about as long as the steps that it replaces."""
    steps = [plan.step(step_id).to_json() for step_id in open_steps]
    answer = max(estimated_tokens(json.dumps(steps, ensure_ascii=False)), LEAST_PLAN_TOKENS)
    return Used(1, 0, prompt_tokens, answer, cost_of(price, prompt_tokens, answer), estimated=True)


def redoing_need(lost: Sequence[Step], so_far: Used, price: Price | None) -> Used:
    """One call in the place of each lost step; a model's takes what such calls took so far in this run."""
    tools = sum(isinstance(step, ToolStep) for step in lost)
    models = len(lost) - tools
    calls = max(so_far.model_calls, 1)
    tokens = (so_far.input_tokens // calls, so_far.output_tokens // calls)
    if not so_far.model_calls:
        tokens = (LEAST_STEP_TOKENS, 0)
    prompts, answers = (count * models for count in tokens)
    cost = cost_of(price, prompts, answers) if models else 0.0
    return Used(models, tools, prompts, answers, cost, estimated=True)


def why_too_dear(limits: Limits, spent: Used, need: Used) -> str | None:
    """The sentence that says which budget another plan does not fit into, or None when it fits."""
    name = lacking(limits, spent, Used(), need)
    if name is None:
        return None
    limit, setting = getattr(limits, name), f"{limits.prefix}{name}"
    left = max(limit - (getattr(spent, name) or 0), 0)
    return (
        f"another plan would take about {getattr(need, name):.6g} {UNITS[name]}, and {left:.6g} of the "
        f"{limit:g} of {setting} are left"
    )
