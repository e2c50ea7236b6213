"""The plan language: plans as data, their references, and the check that decides whether one may run."""

from graph.plan.canonical import call_digest, canonical_json
from graph.plan.catalog import ToolCatalog, ToolSpec
from graph.plan.cel import evaluate_condition
from graph.plan.errors import PlanError, PlanProblem, PlanrailError, ReferenceFailure
from graph.plan.expressions import Expression, read_expression
from graph.plan.json_values import JSON, json_fault
from graph.plan.models import LlmStep, OnDependencyFailure, Plan, Risk, Step, StepBase, ToolStep, max_risk
from graph.plan.references import Scope, condition, has_reference, references, resolve, whole_reference
from graph.plan.statuses import STEP_TRANSITIONS, RunStatus, StepStatus
from graph.plan.tokens import escape_text

__all__ = [
    "JSON",
    "STEP_TRANSITIONS",
    "Expression",
    "LlmStep",
    "OnDependencyFailure",
    "Plan",
    "PlanError",
    "PlanProblem",
    "PlanrailError",
    "ReferenceFailure",
    "Risk",
    "RunStatus",
    "Scope",
    "Step",
    "StepBase",
    "StepStatus",
    "ToolCatalog",
    "ToolSpec",
    "ToolStep",
    "call_digest",
    "canonical_json",
    "condition",
    "escape_text",
    "evaluate_condition",
    "has_reference",
    "json_fault",
    "max_risk",
    "read_expression",
    "references",
    "resolve",
    "whole_reference",
]
