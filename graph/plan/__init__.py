"""The plan language: plans as data, their references, and the check that decides whether one may run."""

from graph.plan.canonical import call_digest, canonical_json
from graph.plan.catalog import ToolCatalog, ToolSpec
from graph.plan.cel import evaluate_condition
from graph.plan.check import check_plan
from graph.plan.check_grounding import given_values, made_by_model
from graph.plan.check_history import untaken_digest
from graph.plan.errors import PlanError, PlanProblem, PlanrailError, ReferenceFailure
from graph.plan.expressions import Expression, read_expression
from graph.plan.graph_order import ancestors, dependents, longest_remaining, topological_order
from graph.plan.grounding import Sources
from graph.plan.json_values import JSON, json_fault
from graph.plan.limits import History, PlanLimits
from graph.plan.models import Plan
from graph.plan.parse import parse_plan
from graph.plan.parse_text import parse_plan_text
from graph.plan.parts import fallback_step, referring_value, step_references
from graph.plan.references import (
    Scope,
    clipped,
    condition,
    has_reference,
    references,
    resolve,
    resolve_words,
    whole_reference,
)
from graph.plan.renaming import can_be_named
from graph.plan.render import to_mermaid, to_text
from graph.plan.revise import PlanDiff, diff_plans, merge_replan, with_own_ids, without_needless
from graph.plan.risk import Risk, max_risk
from graph.plan.splice import inside_parts, last_sub_steps, splice, stray_problems, sub_results
from graph.plan.statuses import STEP_TRANSITIONS, RunStatus, StepStatus
from graph.plan.steps import (
    AgentStep,
    Call,
    ItemStep,
    LlmStep,
    MapStep,
    OnDependencyFailure,
    PlanStep,
    Step,
    ToolStep,
)
from graph.plan.tokens import escape_text
from graph.plan.undo import (
    Done,
    undo_id,
    undo_part,
    undo_revision,
    undoes_another,
    undoes_items,
    undoing,
    undone_id,
    without_undo,
)

__all__ = [
    "JSON",
    "STEP_TRANSITIONS",
    "AgentStep",
    "Call",
    "Done",
    "Expression",
    "History",
    "ItemStep",
    "LlmStep",
    "MapStep",
    "OnDependencyFailure",
    "Plan",
    "PlanDiff",
    "PlanError",
    "PlanLimits",
    "PlanProblem",
    "PlanStep",
    "PlanrailError",
    "ReferenceFailure",
    "Risk",
    "RunStatus",
    "Scope",
    "Sources",
    "Step",
    "StepStatus",
    "ToolCatalog",
    "ToolSpec",
    "ToolStep",
    "ancestors",
    "call_digest",
    "can_be_named",
    "canonical_json",
    "check_plan",
    "clipped",
    "condition",
    "dependents",
    "diff_plans",
    "escape_text",
    "evaluate_condition",
    "fallback_step",
    "given_values",
    "has_reference",
    "inside_parts",
    "json_fault",
    "last_sub_steps",
    "longest_remaining",
    "made_by_model",
    "max_risk",
    "merge_replan",
    "parse_plan",
    "parse_plan_text",
    "read_expression",
    "references",
    "referring_value",
    "resolve",
    "resolve_words",
    "splice",
    "step_references",
    "stray_problems",
    "sub_results",
    "to_mermaid",
    "to_text",
    "topological_order",
    "undo_id",
    "undo_part",
    "undo_revision",
    "undoes_another",
    "undoes_items",
    "undoing",
    "undone_id",
    "untaken_digest",
    "whole_reference",
    "with_own_ids",
    "without_needless",
    "without_undo",
]
