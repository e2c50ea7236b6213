"""Tools with policies: how they are declared, registered, loaded, and called under guard."""

from tools.breaker import BreakerPolicy
from tools.call import call_tool
from tools.classify import classify
from tools.errors import (
    HardToolError,
    OutcomeUnknown,
    SoftToolError,
    ToolLoadError,
    ToolSetupError,
    UnsupportedResult,
)
from tools.fingerprint import fingerprints
from tools.keys import idempotency_key
from tools.limits import ToolLimits
from tools.load import load_tools
from tools.outcomes import CallFailed, CallOutcome, CallSucceeded, FailureKind
from tools.policy import UNKNOWN_TOOL_POLICY, IdempotencyKey, ToolPolicy, policy
from tools.rate import Rate
from tools.reconcile import Reconciled, reconcile
from tools.registered import RegisteredTool
from tools.registry import ToolRegistry
from tools.results import to_json

__all__ = [
    "UNKNOWN_TOOL_POLICY",
    "BreakerPolicy",
    "CallFailed",
    "CallOutcome",
    "CallSucceeded",
    "FailureKind",
    "HardToolError",
    "IdempotencyKey",
    "OutcomeUnknown",
    "Rate",
    "Reconciled",
    "RegisteredTool",
    "SoftToolError",
    "ToolLimits",
    "ToolLoadError",
    "ToolPolicy",
    "ToolRegistry",
    "ToolSetupError",
    "UnsupportedResult",
    "call_tool",
    "classify",
    "fingerprints",
    "idempotency_key",
    "load_tools",
    "policy",
    "reconcile",
    "to_json",
]
