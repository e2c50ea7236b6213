"""What a plan may be at most, and what a new revision must respect."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from graph.plan.json_values import JSON
from graph.plan.models import Plan


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Bounds that code sets and no plan can raise."""

    max_steps: int = 200
    max_expression_chars: int = 500
    max_plan_depth: int = 2
    max_map_items: int = 100_000


@dataclass(frozen=True, slots=True)
class History:
    """What has happened under the revision before.

    `completed` has the output of each completed step by id. `failed_calls` and `done_effects` hold
    `call_digest`s of calls that failed hard, and of writes that are done.
    """

    previous: Plan
    completed: Mapping[str, JSON] = field(default_factory=dict)
    failed_calls: frozenset[str] = frozenset()
    done_effects: frozenset[str] = frozenset()
