"""Tools with policies: how they are declared, registered, loaded, and called under guard."""

from tools.call import call_tool
from tools.classify import Classified, classify
from tools.errors import (
    HardToolError,
    OutcomeUnknown,
    SoftToolError,
    ToolLoadError,
    ToolSetupError,
    UnsupportedResult,
)
from tools.keys import idempotency_key
from tools.outcomes import CallFailed, CallOutcome, CallSucceeded, FailureKind
from tools.policy import UNKNOWN_TOOL_POLICY, IdempotencyKey, ToolPolicy, backoff_seconds, policy
from tools.registered import RegisteredTool
from tools.registry import ToolRegistry
from tools.results import to_json

__all__ = [
    "UNKNOWN_TOOL_POLICY",
    "CallFailed",
    "CallOutcome",
    "CallSucceeded",
    "Classified",
    "FailureKind",
    "HardToolError",
    "IdempotencyKey",
    "OutcomeUnknown",
    "RegisteredTool",
    "SoftToolError",
    "ToolLoadError",
    "ToolPolicy",
    "ToolRegistry",
    "ToolSetupError",
    "UnsupportedResult",
    "backoff_seconds",
    "call_tool",
    "classify",
    "idempotency_key",
    "policy",
    "to_json",
]
